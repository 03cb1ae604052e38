package selfcheck

import "context"

// Run compares the calling process and its PID 1 with what must be in force. It needs no privilege,
// changes nothing that outlives it, and works in a process that isn't dumpable. When ctx ends, what
// wasn't looked at yet is missing, as the failed check "complete".
func Run(ctx context.Context, e Expect) Report {
	var p checks
	for _, group := range []func(*checks, Expect){
		checkProcesses, checkEnviron, checkCore, checkSeccomp, checkNamespaces, checkNetwork, checkMounts, checkPaths, checkDevices,
	} {
		if ctx.Err() != nil {
			p.add("complete", false, "all checks", context.Cause(ctx).Error())
			break
		}
		group(&p, e)
	}
	return Report{Protections: p, Limits: checkLimits("/", e)}
}

// checks collects the comparisons of a report.
type checks []Check

func (c *checks) add(name string, ok bool, want, got string) {
	*c = append(*c, Check{Name: name, OK: ok, Want: want, Got: got})
}

// equal adds a check that got is want, or that it couldn't be read.
func (c *checks) equal(name, want, got string, err error) {
	if err != nil {
		c.add(name, false, want, err.Error())
		return
	}
	c.add(name, got == want, want, got)
}
