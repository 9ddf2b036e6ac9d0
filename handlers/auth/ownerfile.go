package auth

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// maxKeyFile bounds a file of keys or access keys; some ten thousand of these fit.
const maxKeyFile = 4 << 20

// LoadKeys reads the keys of a file, as [ParseKeys] does. A file with a secret or a private key must be for its owner alone: mode
// 0600, or stricter. One of root's may be readable by a group, too (0640), since that is how Kubernetes mounts a secret for a
// process that is not root. A file that has public keys only may be read by everybody, but not be written by everybody.
func LoadKeys(path string) ([]Key, error) {
	data, info, err := readKeyFile(path)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	keys, err := ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("keys in %s: %w", path, err)
	}
	for _, k := range keys {
		if k.Signs() {
			return keys, ownersOnly(path, info)
		}
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 && hasModes {
		return nil, fmt.Errorf("everybody may write to %s (mode %04o), and so let in whom they like: chmod 644 %s", path, mode, path)
	}
	return keys, nil
}

// readOwned reads a file with secrets, for which the same holds as for one of private keys, see [LoadKeys].
func readOwned(path string) ([]byte, error) {
	data, info, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	return data, ownersOnly(path, info)
}

// readKeyFile says of what it read who else may use it. The mode is that of the file a symbolic link names.
func readKeyFile(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxKeyFile {
		return nil, nil, fmt.Errorf("%s is larger than %d MiB", path, maxKeyFile>>20)
	}
	return data, info, nil
}

// hasModes is false on Windows, which has no such bits and shows others in their place.
const hasModes = runtime.GOOS != "windows"

// ownersOnly is an error if others than those whom a file with secrets is for may use it.
func ownersOnly(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if !hasModes || mode&excess(ownerOf(info), os.Geteuid()) == 0 {
		return nil
	}
	return fmt.Errorf("others than its owner may use %s (mode %04o), and it holds secrets: chmod 600 %s", path, mode, path)
}

// excess are the bits that the mode of a file with secrets must not have, for a process of a user.
func excess(owner, user int) fs.FileMode {
	if owner == 0 && user != 0 {
		return 0o037 // the group is how the process gets to read it
	}
	return 0o077
}
