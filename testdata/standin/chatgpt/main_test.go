package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asApp makes the test binary the app.
const asApp = "CHATGPT_STANDIN_TEST_APP"

func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	c, err := parse([]string{
		"--no-sandbox", "--ozone-platform=x11", "--remote-debugging-port=9222", "--v=0", "--app=http://elsewhere", "codex://new?path=%2Fw",
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"--no-sandbox", "--ozone-platform=x11", "--v=0"}, c.Flags); d != "" {
		t.Error(d)
	}
	if c.Link != "codex://new?path=%2Fw" {
		t.Errorf("link %q", c.Link)
	}
	if _, err := parse([]string{"codex://new", "codex://new"}); err == nil {
		t.Error("two links are taken")
	}
}
