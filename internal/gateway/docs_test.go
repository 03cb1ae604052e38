package gateway

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// What users copy has to work.
func TestDocumentedScripts(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway-script.md")
	check(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(\\{\n.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Errorf("the page has %d scripts, want 3", len(blocks))
	}
	for i, b := range blocks {
		if _, err := Parse(fmt.Sprintf("example %d", i+1), b[1]); err != nil {
			t.Error(err)
		}
	}
}

func TestShippedScripts(t *testing.T) {
	if s := Default(); len(s.Rules) != 1 || len(s.Models) == 0 {
		t.Errorf("the default script is %+v", s)
	}
	if _, err := Load("../../testdata/sample/script.json"); err != nil {
		t.Error(err)
	}
}
