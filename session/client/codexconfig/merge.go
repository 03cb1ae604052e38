package codexconfig

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// Merge lays a config.toml over another, which an app may have written: keys that only the other has are
// kept, at every level but in an MCP server, which is all of one or all of the other (a server with half of
// each couldn't be started).
func Merge(before, ours []byte) ([]byte, error) {
	if len(bytes.TrimSpace(before)) == 0 {
		return ours, nil
	}
	var all, over map[string]any
	if _, err := toml.Decode(string(before), &all); err != nil {
		return nil, fmt.Errorf("what is in config.toml: %w", err)
	}
	if _, err := toml.Decode(string(ours), &over); err != nil {
		return nil, err
	}
	lay(all, over, "")
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(all); err != nil {
		return nil, err
	}
	return b.Bytes(), bounded(b.Len())
}

func lay(all, over map[string]any, table string) {
	for key, value := range over {
		below, ok := value.(map[string]any)
		there, also := all[key].(map[string]any)
		if !ok || !also || table == "mcp_servers" {
			all[key] = value
			continue
		}
		lay(there, below, key)
	}
}

func bounded(n int) error {
	if n > maxConfig {
		return fmt.Errorf("config.toml has %d bytes, the limit is %d", n, maxConfig)
	}
	return nil
}
