package owner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// hostID makes a host's identity of a machine id, which itself isn't to be shown to others
// (machine-id(5)), and of the host name, which machines cloned with their id often don't share.
func hostID(machine string) string {
	name, err := os.Hostname()
	if err != nil || machine == "" || machine == "uninitialized" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(machine))
	h.Write([]byte("berth owner\n" + name))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
