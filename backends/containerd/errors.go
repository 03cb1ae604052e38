package containerd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/berth-run/berth/backends"
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", backends.ErrInvalid, fmt.Sprintf(format, args...))
}

// known are an engine's words that have one cause and one way on. The first that matches counts.
var known = []struct {
	text     string // lower case
	sentinel error
	advice   string
}{
	{"containerd-shim-runc-v2\": file does not exist", backends.ErrUnavailable, "the engine lacks its runtime shim: install all of containerd"},
	{"\"runc\": executable file not found", backends.ErrUnavailable, "the engine has no runc on its PATH: install it (Debian: `apt install runc`)"},
	{"no space left on device", backends.ErrUnavailable, "the disk is full: `ctr -n berth images ls` shows what berth has there"},
	{"connect: connection refused", backends.ErrUnavailable, "containerd isn't running any more"},
	{"error while dialing", backends.ErrUnavailable, "containerd isn't running any more"},
}

// explain puts the sentinel and the way on to an engine's words that are known.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errdefs.IsInvalidArgument(err) {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	text := strings.ToLower(err.Error())
	for _, k := range known {
		if strings.Contains(text, k.text) {
			return fmt.Errorf("%w: %w: %s", k.sentinel, err, k.advice)
		}
	}
	return err
}

// native turns a gRPC status into an error of errdefs, for the services that don't by themselves.
func native(err error) error { return errgrpc.ToNative(err) }

// ignore is err without those of the given kinds.
func ignore(err error, kinds ...func(error) bool) error {
	for _, is := range kinds {
		if is(err) {
			return nil
		}
	}
	return err
}

// wrap names the shard and finds the sentinel.
func (s *shard) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backends.ErrNotFound), errors.Is(err, backends.ErrState):
		return err
	case errdefs.IsNotFound(err):
		return fmt.Errorf("shard %.12s: %w: %w", s.id, backends.ErrNotFound, err)
	case errdefs.IsFailedPrecondition(err), errdefs.IsAlreadyExists(err):
		return fmt.Errorf("shard %.12s: %w: %w", s.id, backends.ErrState, err)
	}
	return explain(err)
}
