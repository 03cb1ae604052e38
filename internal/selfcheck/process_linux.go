package selfcheck

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilitySets are the names in /proc/PID/status and those in checks.
var capabilitySets = map[string]string{
	"CapInh": "inheritable", "CapPrm": "permitted", "CapEff": "effective", "CapBnd": "bounding", "CapAmb": "ambient",
}

// checkProcesses looks at this process and at PID 1, which an agent could otherwise reach through.
// A PID 1 that isn't the shard's user is somebody else's: the pid namespace is shared.
func checkProcesses(c *checks, e Expect) {
	checkProcess(c, "", "/proc/self/status", e)
	checkProcess(c, "pid1:", "/proc/1/status", e)
}

func checkProcess(c *checks, prefix, path string, e Expect) {
	s, err := readStatus(path)
	for _, key := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		c.equal(prefix+"capabilities:"+capabilitySets[key], "none", capabilities(s[key]), err)
	}
	c.equal(prefix+"no_new_privs", "1", s["NoNewPrivs"], err)
	c.equal(prefix+"seccomp", "2", s["Seccomp"], err)
	c.equal(prefix+"uid", ids(e.UID, 4), s["Uid"], err)
	c.equal(prefix+"gid", ids(e.GID, 4), s["Gid"], err)
	groups := s["Groups"]
	if groups == "" {
		groups = ids(e.GID, 1)
	}
	c.equal(prefix+"groups", ids(e.GID, 1), groups, err)
}

// readStatus gives the lines of a status file with their fields joined by one space.
func readStatus(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseStatus(string(b)), nil
}

func parseStatus(text string) map[string]string {
	s := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		s[key] = strings.Join(strings.Fields(value), " ")
	}
	return s
}

// capabilities gives "none" for an empty set in hexadecimal, and anything else as it is.
func capabilities(hex string) string {
	if n, err := strconv.ParseUint(hex, 16, 64); err == nil && n == 0 {
		return "none"
	}
	return hex
}

func ids(id, times int) string {
	return strings.TrimSuffix(strings.Repeat(strconv.Itoa(id)+" ", times), " ")
}

func checkCore(c *checks, e Expect) {
	if !e.NoCore {
		return
	}
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_CORE, &l)
	c.equal("core_dumps", "0", fmt.Sprint(l.Max), err)
}
