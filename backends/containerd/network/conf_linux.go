package network

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// name is the network's, as CNI has it.
const name = "berth"

type object = map[string]any

// configure writes the network's configuration, if it isn't there: for as long as there's a shard that has
// it, it's the one that all have.
func configure(ctx context.Context) error {
	if _, err := os.Stat(confFile()); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	routes, err := os.ReadFile("/proc/self/net/route")
	if err != nil {
		return err
	}
	subnet, err := freeSubnet(routes)
	if err != nil {
		return err
	}
	// A pair of interfaces for each shard, and no bridge: shards have no common wire.
	list := []object{{
		"type": "ptp", "ipMasq": true,
		"ipam": object{
			"type": "host-local", "dataDir": ipamDir(),
			"ranges": [][]object{{{"subnet": subnet.String()}}},
			"routes": []object{{"dst": "0.0.0.0/0"}},
		},
	}}
	switch {
	case firewalld(ctx):
		list = append(list, object{"type": "firewall", "backend": "firewalld"})
	case dropsForwarded(ctx):
		list = append(list, object{"type": "firewall", "backend": "iptables"})
	}
	conf, err := json.MarshalIndent(object{"cniVersion": "0.4.0", "name": name, "plugins": list}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(confDir(), 0o700); err != nil {
		return err
	}
	next := filepath.Join(folder(), "next")
	if err := os.WriteFile(next, conf, 0o600); err != nil {
		return err
	}
	return os.Rename(next, confFile())
}

// freeSubnet finds one that the machine has no route to (besides the one to everywhere), in what
// /proc/net/route says.
func freeSubnet(routes []byte) (netip.Prefix, error) {
	var used []netip.Prefix
	lines := bufio.NewScanner(bytes.NewReader(routes))
	lines.Scan() // the headings
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		addr, mask := hexAddr(f[1]), hexAddr(f[7])
		bits := 0
		for m := binary.BigEndian.Uint32(mask[:]); m != 0; m <<= 1 {
			bits++
		}
		if bits > 0 {
			used = append(used, netip.PrefixFrom(netip.AddrFrom4(addr), bits))
		}
	}
next:
	for third := range 256 { // 10.231.0.0/20, 10.231.16.0/20 and so on, to 10.246
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(231 + third/16), byte(third % 16 * 16), 0}), 20)
		for _, u := range used {
			if u.Overlaps(p) {
				continue next
			}
		}
		return p, nil
	}
	return netip.Prefix{}, fmt.Errorf("the machine has routes to all of 10.231.0.0 to 10.246.255.255, where a network for shards was to be")
}

// hexAddr reads an address as the kernel writes it there, its bytes turned round.
func hexAddr(s string) (a [4]byte) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) == 4 {
		a = [4]byte{b[3], b[2], b[1], b[0]}
	}
	return a
}
