package disk

import "golang.org/x/sys/unix"

// probe names the file system beneath dir if there is something to say about it.
func probe(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", err
	}
	switch uint32(s.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return "a file system in memory (tmpfs): nothing survives a restart of the machine", nil
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "a container's own layer (overlay): data is lost with the container; mount a volume", nil
	case unix.NFS_SUPER_MAGIC:
		return "NFS: locks and syncs depend on the server; use a local disk", nil
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE: whether syncs are honored depends on the program behind it; use a local disk", nil
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.V9FS_MAGIC:
		return "a network or host share: locks and syncs depend on the other side; use a local disk", nil
	}
	return "", nil
}
