//go:build !unix

package auth

import "io/fs"

// ownerOf is the id of the user that a file belongs to; -1 if that is unknown.
func ownerOf(fs.FileInfo) int { return -1 }
