package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// debian makes Debian's root file system as a cached layer.
func (b *build) debian(ctx context.Context) (entry, error) {
	name := "rootfs-" + b.plan.rootKey()
	if !b.opts.Refresh {
		if e, ok := b.cache.load(name, ""); ok {
			b.report.emit(Event{Step: StepRoot, Bytes: e.Size, Total: e.Size, Cached: true, Done: true})
			return e, nil
		}
	}
	if err := needDebian(b.plan.Arch, debianKeyring); err != nil {
		return entry{}, err
	}
	sources, err := sourcesList("/etc/apt", b.opts.Mirror, b.plan.Suite)
	if err != nil {
		return entry{}, err
	}
	e, err := b.cache.store(ctx, name, func(w io.Writer) (entry, error) { return b.bootstrap(ctx, sources, w) })
	if err == nil {
		b.report.emit(Event{Step: StepRoot, Bytes: e.Size, Total: e.Size, Done: true})
	}
	return e, err
}

// bootstrap runs mmdebstrap and writes what it makes, scrubbed, to w.
func (b *build) bootstrap(ctx context.Context, sources string, w io.Writer) (entry, error) {
	tmp, err := b.cache.outsideDir()
	if err != nil {
		return entry{}, err
	}
	defer func() { _ = b.cache.removeOutside(ctx, tmp) }() // what can't be removed now, the next build removes
	cmd, said := b.mmdebstrap(ctx, tmp)
	cmd.Stdin = strings.NewReader(sources)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return entry{}, err
	}
	if err := cmd.Start(); err != nil {
		return entry{}, fmt.Errorf("%w mmdebstrap: %w", ErrPrerequisite, err)
	}
	packages, scrubErr := scrub(out, b.report.meter(w, StepRoot, 0), b.plan.Epoch)
	if scrubErr != nil {
		_ = cmd.Cancel()
	}
	err = wait(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return entry{}, err
	case err != nil && (scrubErr == nil || errors.Is(scrubErr, io.ErrUnexpectedEOF)):
		return entry{}, bootstrapError(tmp, said, err)
	}
	return entry{Packages: packages}, scrubErr
}

func (b *build) mmdebstrap(ctx context.Context, tmp string) (*exec.Cmd, *lines) {
	mode := "unshare"
	if os.Getuid() == 0 {
		mode = "root"
	}
	args := []string{
		"--mode=" + mode, "--variant=minbase", "--format=tar", "--architectures=" + debianArch(b.plan.Arch),
		"--keyring=" + debianKeyring,
	}
	if len(b.plan.Packages) > 0 {
		args = append(args, "--include="+strings.Join(b.plan.Packages, ","))
	}
	for _, h := range b.hooks() {
		args = append(args, "--customize-hook="+h)
	}
	for _, o := range aptNetwork(ctx) {
		args = append(args, "--aptopt="+o)
	}
	// "-" twice: the tar to stdout, the sources from stdin, where no other user sees a mirror's password.
	cmd := b.cache.command(ctx, "mmdebstrap", append(args, b.plan.Suite, "-", "-")...)
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.plan.Epoch), "LC_ALL=C.UTF-8")
	said := &lines{each: func(s string) {
		if d, ok := strings.CutPrefix(s, "I: "); ok {
			b.report.emit(Event{Step: StepRoot, Detail: hookName(d)})
		}
	}}
	cmd.Stderr = said
	return cmd, said
}

// aptNetwork is how this machine's apt reaches a mirror: mmdebstrap reads none of its config.
func aptNetwork(ctx context.Context) []string {
	out, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil {
		return nil // no apt here: a mirror= is reached as it is
	}
	return aptNetworkOptions(string(out))
}

var aptNetworkOption = regexp.MustCompile(`(?i)^Acquire::https?::(Proxy|CAInfo)\b.* ".+";$`)

func aptNetworkOptions(dump string) []string {
	var opts []string
	for line := range strings.Lines(dump) {
		if line = strings.TrimSpace(line); aptNetworkOption.MatchString(line) {
			opts = append(opts, strings.TrimSuffix(line, ";"))
		}
	}
	return opts
}

func debianArch(goarch string) string {
	if goarch == "386" {
		return "i386"
	}
	return goarch // amd64 and arm64 have the same name in both
}

var urlInText = regexp.MustCompile(`[a-z]+://[^\s'"]+`)

// bootstrapError names what mmdebstrap failed at.
func bootstrapError(tmp string, said *lines, err error) error {
	if full := said.outOfSpace(); full != nil {
		return storageError(tmp, full)
	}
	if unmet, ok := strings.CutPrefix(said.cause(unmetDepends), unmetDepends); ok {
		return fmt.Errorf("%w: it needs what this Debian release doesn't have: %s", ErrPackage, unmet)
	}
	why := urlInText.ReplaceAllStringFunc(said.cause("E: Unable", "E: Failed", "E: ", "W: "), redactURL)
	return fmt.Errorf("%w: mmdebstrap (%w): %s", ErrFetch, err, why)
}

func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(address)"
	}
	return u.Redacted()
}
