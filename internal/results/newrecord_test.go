package results

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHideArgs(t *testing.T) {
	const secret = "s3cret-0123456789"
	hashed := hash(secret)
	for _, tt := range []struct{ args, want []string }{
		{[]string{"--token", secret, "--name", "x"}, []string{"--token", hashed, "--name", "x"}},
		{[]string{"--api-key=" + secret}, []string{"--api-key=" + hashed}},
		{[]string{"WIKI_TOKEN=" + secret}, []string{"WIKI_TOKEN=" + hashed}},
		{[]string{"--header", "Authorization: Bearer " + secret}, []string{"--header", "Authorization:" + hash(" Bearer "+secret)}},
		{[]string{"--header=X-Api-Key: " + secret}, []string{"--header=X-Api-Key:" + hash(" "+secret)}},
		{[]string{"--token-file", "/run/t", "--token-file=/run/t", "TOKEN_FILE=/run/t"}, []string{"--token-file", "/run/t", "--token-file=/run/t", "TOKEN_FILE=/run/t"}},
		{[]string{"--password", "--verbose"}, []string{"--password", "--verbose"}},
		{[]string{"https://me:" + secret + "@wiki.test/mcp?key=" + secret}, []string{"https://wiki.test/mcp"}},
		{[]string{"-c", "a=b", "--", "path:with/colon"}, []string{"-c", "a=b", "--", "path:with/colon"}},
	} {
		got := hideArgs(tt.args)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, d)
		}
		if strings.Contains(strings.Join(got, " "), secret) {
			t.Errorf("%q shows the secret", got)
		}
	}
}
