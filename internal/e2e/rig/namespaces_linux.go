package rig

import (
	"errors"
	"os"
	"os/exec"
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
