package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Sparse is the size of the file that plant makes of a hole and SparseEnd.
const (
	Sparse    = 8 << 20
	SparseEnd = "end"
)

// plant fills a new folder with what an agent may leave: a sparse file in whole/, and in odd/ a file with two
// names, links to everywhere, a pipe, and a file that is nobody's to write.
func plant(_ context.Context, args []string, _ Stdio) (int, error) {
	in := func(name string) string { return filepath.Join(args[0], name) }
	err := errors.Join(
		os.MkdirAll(in("whole"), 0o700), os.MkdirAll(in("odd/sub"), 0o700),
		os.WriteFile(in("whole/sparse"), nil, 0o600), os.Truncate(in("whole/sparse"), Sparse),
		os.WriteFile(in("odd/file"), []byte("x"), 0o444), os.Link(in("odd/file"), in("odd/sub/same")),
		os.Symlink("../file", in("odd/sub/inside")), os.Symlink("gone", in("odd/dangling")),
		os.Symlink("/etc/passwd", in("odd/absolute")), os.Symlink("../../../x", in("odd/outside")),
		syscall.Mkfifo(in("odd/pipe"), 0o600),
	)
	if err != nil {
		return 1, err
	}
	f, err := os.OpenFile(in("whole/sparse"), os.O_WRONLY, 0)
	if err != nil {
		return 1, err
	}
	_, err = f.WriteAt([]byte(SparseEnd), Sparse-int64(len(SparseEnd)))
	return 0, errors.Join(err, f.Close())
}
