// Package record is the byte format of the journal: files, batches and records. This comment is its specification.
//
// All integers are little-endian. All checksums are CRC32C (Castagnoli). A length is checked against its bound, and
// against the bytes that are there, before anything is allocated for it.
//
// # File
//
// A data file is a header block followed by batches. Everything that starts a batch lies on a 4 KiB boundary, so that
// bytes that were acknowledged are never written again.
//
//	0        4096                     (multiples of 4096)
//	├ header ┼ batch ┼ batch ┼ … ┼ batch with the seal flag ┼ unused, zero or stale ┤
//
// The header fills one block of 4096 bytes; its 64 used bytes lie within one sector, the others are zero.
//
//	 0  8  magic "DABBAJNL"
//	 8  2  format version, now 1
//	10  1  kind: 1 journal, 2 merged
//	11  1  flags: bit 0, the file was recycled and may hold stale bytes past its batches
//	12  4  file number
//	16  8  LSN: no record of a journal file has a lower one
//	24  8  salt, random, new for each use of a file
//	32  8  size in bytes the file had at least when its header was written; 0 if not known beforehand
//	40 20  zero
//	60  4  CRC32C of bytes 0 to 59
//
// Magic, version and checksum stay at these places in every version of the format.
//
// # Batch
//
// A batch is what one write put down: a header of 64 bytes, its records one after the other, each starting on a
// multiple of 8 bytes, and zeros up to the next multiple of 4096 bytes.
//
//	 0  4  magic 0xDABBA7C4
//	 4  4  length of the records with the gaps between them, without this header and the zeros at the end
//	 8  4  number of records
//	12  4  flags: bit 0, seal: the file ends here
//	16  8  LSN of the first record (of the next record to come if there is none)
//	24  8  LSN up to which everything was synced when this batch was put together
//	32  4  file number
//	36  4  place of the batch in the file, in blocks of 4096 bytes
//	40  4  number of the file that follows (with the seal flag; 0 in a merged file)
//	44  8  salt of the file
//	52  8  zero
//	60  4  CRC32C of bytes 0 to 59
//
// Number, place and salt make sure that neither bytes of an earlier use of the file nor the body of a message nor a
// write that landed elsewhere passes for a batch. The LSNs in a journal file only rise; inside a batch without gaps,
// between batches by any step. In a merged file each record keeps the LSN it was first written with, in any order.
//
// # Record
//
//	 0  4  length of the payload, at most 80 MiB; bit 31 is set in the last record of a batch
//	 4  4  CRC32C of salt (8 bytes), place of the record in the file (4 bytes), bytes 0 to 3, bytes 8 to 31, payload
//	 8  1  type, never 0
//	 9  1  version of the payload's encoding
//	10  2  key slot: zero, reserved for encryption
//	12  4  tenant: zero, reserved
//	16  8  object: the queue generation the record is about, or 0
//	24  8  LSN
//	32     payload
//
// A record never spans batches or files. The magic of a batch is no possible first word of a record, so a reader that
// starts at a record can walk on to the next batch.
//
// What does not live here: reading and writing files, and what the payloads mean.
package record
