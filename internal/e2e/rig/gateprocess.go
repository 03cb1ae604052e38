package rig

import (
	"os"
	"regexp"
	"syscall"
)

// GatewayProcess runs `berth gateway` and takes what it says to export. The function that it gives
// ends it.
func (p *Project) GatewayProcess(script string) (end func()) {
	p.T.Helper()
	out, err := os.Create(p.Path("exports"))
	if err != nil {
		p.T.Fatal(err)
	}
	defer out.Close()
	c := p.commandTo(out, "gateway", "--script", p.Write("script.json", script), "--listen", "127.0.0.1:0",
		"--token-file", p.Path("token"), "--log", p.Path("gateway.log"))
	export := regexp.MustCompile(`(?m)^export (\w+)=(?:'(.*)'|(\S+))$`)
	var vars [][]string
	listening := Eventually(func() bool {
		text, _ := os.ReadFile(out.Name()) // it's there
		vars = export.FindAllStringSubmatch(string(text), -1)
		return len(vars) == 2
	})
	if !listening {
		p.T.Fatal("berth gateway says nothing to export")
	}
	for _, v := range vars {
		p.Env = append(p.Env, v[1]+"="+v[2]+v[3])
	}
	return func() {
		c.Signal(syscall.SIGTERM)
		c.Wait().Expect(p.T, 0)
	}
}
