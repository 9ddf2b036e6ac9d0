package auth

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/MicahParks/jwkset"
)

// TestLoadKeysWantsAPrivateFile: what signs tokens is for the file's owner alone, what only verifies them may be seen by all.
func TestLoadKeysWantsAPrivateFile(t *testing.T) {
	t.Parallel()
	k := pair()
	jwks := func(private bool) []byte {
		data, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwkOf(t, "a", k.ec, private)}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	public := pemOf(t, &k.rsa.PublicKey)
	for name, tt := range map[string]struct {
		data           []byte
		taken, refused []fs.FileMode
	}{
		"secret":             {[]byte(secret + "\n"), []fs.FileMode{0o600, 0o400, 0o700}, []fs.FileMode{0o640, 0o604, 0o644, 0o660, 0o620, 0o601}},
		"private PEM":        {privatePEM(t, k.ec), []fs.FileMode{0o600}, []fs.FileMode{0o640, 0o604}},
		"private and public": {append(pemOf(t, &k.rsa.PublicKey), privatePEM(t, k.ed)...), []fs.FileMode{0o600}, []fs.FileMode{0o644}},
		"private JWK set":    {jwks(true), []fs.FileMode{0o600}, []fs.FileMode{0o644}},
		"public PEM":         {public, []fs.FileMode{0o600, 0o644, 0o664, 0o444}, []fs.FileMode{0o666, 0o602}},
		"public JWK set":     {jwks(false), []fs.FileMode{0o644}, []fs.FileMode{0o646}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(t.TempDir(), "link") // as a secret's volume has it; its own mode means nothing
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			for _, mode := range tt.taken {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				for _, at := range []string{path, link} {
					if keys, err := LoadKeys(at); err != nil || len(keys) == 0 {
						t.Errorf("mode %04o: LoadKeys = %d keys, %v", mode, len(keys), err)
					}
				}
			}
			for _, mode := range tt.refused {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				for _, at := range []string{path, link} {
					_, err := LoadKeys(at)
					if err == nil || !strings.Contains(err.Error(), ": chmod 6") || !strings.Contains(err.Error(), fmt.Sprintf("mode %04o", mode)) {
						t.Errorf("mode %04o: LoadKeys = %v, want an error that names the mode and the chmod", mode, err)
					}
				}
			}
		})
	}
	if _, err := LoadKeys(filepath.Join(t.TempDir(), "absent")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := LoadKeys(t.TempDir()); err == nil {
		t.Error("a folder: no error")
	}
}

// TestAFileOfRootMayBeForAGroup: a secret's volume is of root, and for the group of the process.
func TestAFileOfRootMayBeForAGroup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		owner, user int
		mode        fs.FileMode
		fine        bool
	}{
		{0, 65532, 0o440, true},
		{0, 65532, 0o640, true},
		{0, 65532, 0o660, false},
		{0, 65532, 0o444, false},
		{0, 65532, 0o644, false},
		{0, 0, 0o600, true},
		{0, 0, 0o640, false},
		{1000, 1000, 0o640, false},
		{1000, 1000, 0o400, true},
		{1000, 65532, 0o640, false},
	} {
		if fine := tt.mode&excess(tt.owner, tt.user) == 0; fine != tt.fine {
			t.Errorf("a file of user %d with mode %04o, for a process of user %d: %v, want %v", tt.owner, tt.mode, tt.user, fine, tt.fine)
		}
	}
}
