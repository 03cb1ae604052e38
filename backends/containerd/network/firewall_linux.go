package network

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The firewall plugin's chains, and its rule in FORWARD. They're others' too.
const (
	chain      = "CNI-FORWARD"
	adminChain = "CNI-ADMIN"
)

// firewalld tells whether that is the machine's firewall, which isn't seen among iptables' rules. It has no
// say over a rootless engine's network.
func firewalld(ctx context.Context) bool {
	var first, outside uint32
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	if _, err := fmt.Sscan(string(ids), &first, &outside); err != nil || first != outside {
		return false
	}
	return exec.CommandContext(ctx, "firewall-cmd", "--state").Run() == nil
}

// dropsForwarded tells whether the machine's firewall would let nothing through that comes from a shard, as
// it's where Docker is: then each shard's address needs a rule. Whether the chains for such rules were
// there before is noted.
func dropsForwarded(ctx context.Context) bool {
	rules, err := iptables(ctx, "-S", "FORWARD")
	if err != nil || strings.TrimSpace(rules) == "-P FORWARD ACCEPT" {
		return false
	}
	if _, err := iptables(ctx, "-S", chain); err != nil {
		_ = os.WriteFile(freshFile(), nil, 0o600)
	}
	return true
}

// removeChains removes the chains, if they weren't there before and nobody else has come to use them.
func removeChains(ctx context.Context) {
	if _, err := os.Stat(freshFile()); err != nil {
		return
	}
	rules, err := iptables(ctx, "-S", chain)
	admin, aerr := iptables(ctx, "-S", adminChain)
	if err != nil || aerr != nil || strings.Count(rules, "-A ") > strings.Count(rules, "-j "+adminChain) || strings.Contains(admin, "-A ") {
		return
	}
	for _, args := range [][]string{
		{"-D", "FORWARD", "-m", "comment", "--comment", "CNI firewall plugin rules", "-j", chain},
		{"-F", chain}, {"-X", chain}, {"-X", adminChain},
	} {
		_, _ = iptables(ctx, args...)
	}
}

// unmask removes a shard's masquerading, which stays where a plugin was killed between a shard's interface
// and this: when it's asked again, it finds no interface and looks no further.
func unmask(ctx context.Context, id string) {
	rules, _ := iptables(ctx, "-t", "nat", "-S", "POSTROUTING")
	for line := range strings.Lines(rules) {
		if !strings.Contains(line, `id: \"`+id+`\"`) {
			continue
		}
		var own string
		args := []string{"-t", "nat", "-D", "POSTROUTING"}
		f := strings.Fields(line)
		for i := range len(f) - 1 {
			switch f[i] {
			case "-s":
				args = append(args, "-s", f[i+1])
			case "-j":
				own = f[i+1]
			}
		}
		_, _ = iptables(ctx, append(args, "-m", "comment", "--comment", fmt.Sprintf("name: %q id: %q", name, id), "-j", own)...)
		_, _ = iptables(ctx, "-t", "nat", "-F", own)
		_, _ = iptables(ctx, "-t", "nat", "-X", own)
	}
}

// iptables waits for who else is at the rules.
func iptables(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "iptables", append([]string{"--wait"}, args...)...).Output()
	return string(out), err
}
