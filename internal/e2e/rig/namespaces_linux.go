package rig

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// InNamespaces has the project's commands run, as the same user, in user and mount namespaces of
// their own, after the shell lines of prepare, which may mount.
func (p *Project) InNamespaces(prepare string) {
	p.T.Helper()
	p.Change = func(cmd *exec.Cmd) { enterNamespaces(cmd, prepare) }
	try := exec.Command("/bin/true")
	enterNamespaces(try, ":")
	if err := try.Run(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		p.T.Skip("this host allows no user namespaces; set kernel.unprivileged_userns_clone=1")
	} else if err != nil {
		p.T.Fatal(err)
	}
}

// enterNamespaces makes cmd one that makes the namespaces, prepares them as their administrator, and
// goes on without any capability.
func enterNamespaces(cmd *exec.Cmd, prepare string) {
	const capSysAdmin = 21 // linux/capability.h
	shell := []string{"/bin/sh", "-ec", prepare + "\n" + `exec setpriv --inh-caps=-all --ambient-caps=-all -- "$@"`, "sh", cmd.Path}
	cmd.Args = append(shell, cmd.Args[1:]...)
	cmd.Path = shell[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:     true,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{capSysAdmin},
	}
}

// InPIDNamespace has the project's commands run, as the same user, where no process of others is seen: as in
// another container of this machine.
func (p *Project) InPIDNamespace() {
	p.T.Helper()
	p.Change = enterPIDNamespace
	try := exec.Command("/bin/true")
	enterPIDNamespace(try)
	if out, err := try.CombinedOutput(); err != nil {
		p.T.Skipf("this host allows no PID namespace with its own /proc: %v: %s", err, out)
	}
}

// enterPIDNamespace makes cmd one that makes the namespace, for which an ordinary user needs one of users,
// and goes on as its first process.
func enterPIDNamespace(cmd *exec.Cmd) {
	unshare := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--user", "--map-current-user")
	}
	cmd.Args = slices.Concat(unshare, []string{"--", cmd.Path}, cmd.Args[1:])
	if path, err := exec.LookPath("unshare"); err == nil {
		cmd.Path = path
	}
}
