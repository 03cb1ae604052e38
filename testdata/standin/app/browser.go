package app

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// browser is the app's window.
type browser struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// quiet turns off what the real app doesn't have of Chromium, and what would ask the network.
var quiet = []string{
	"--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync",
	"--disable-background-networking", "--disable-component-update", "--disable-breakpad",
	"--disable-features=Translate,MediaRouter,OptimizationHints", "--password-store=basic",
	"--window-size=1100,800", "--renderer-process-limit=1",
	"--test-type", // no bar across the page that warns of --no-sandbox
}

// browse opens the page in a window, with the flags that the app was given: with none for
// accessibility, what's in the window isn't told to anybody.
func browse(address, data string, c Config) (*browser, error) {
	args := append([]string{"--app=" + address, "--user-data-dir=" + data}, quiet...)
	b := &browser{done: make(chan struct{})}
	b.cmd = exec.Command(browserPath(), append(args, c.Flags...)...)
	b.cmd.Stdout, b.cmd.Stderr = c.Stderr, c.Stderr
	b.cmd.SysProcAttr = endWithParent()
	started := make(chan error)
	go b.run(started)
	return b, <-started
}

// run starts the browser and waits for it, on one thread: the kernel ends the browser with the thread
// that started it.
func (b *browser) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := b.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	b.err = b.cmd.Wait()
	close(b.done)
}

func browserPath() string {
	if path := os.Getenv("CHATGPT_STANDIN_CHROMIUM"); path != "" {
		return path
	}
	return "/usr/bin/chromium"
}

// browserGrace is how long the browser has to close its window.
const browserGrace = 2 * time.Second

func (b *browser) end() {
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-b.done:
	case <-time.After(browserGrace):
		_ = b.cmd.Process.Kill()
		<-b.done
	}
}

// status is the app's when its window has closed.
func (b *browser) status() (int, error) {
	if b.err != nil {
		return 1, b.err
	}
	return 0, nil
}
