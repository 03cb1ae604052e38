package desktop

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/session/client/chatgpt"
)

// desktopImages makes each suite's image once.
var desktopImages = func() map[string]func() (string, error) {
	images := map[string]func() (string, error){}
	for _, suite := range testrig.Suites {
		images[suite] = sync.OnceValues(func() (string, error) { return makeDesktopImage(suite) })
	}
	return images
}()

func makeDesktopImage(suite string) (string, error) {
	if err := rig.WithoutImage(); err != nil {
		return "", err
	}
	ctx := context.Background()
	engine, err := podman.New(ctx, podman.Options{})
	if err != nil {
		return "", err
	}
	defer engine.Close()
	bin := filepath.Dir(rig.Prepared.Berth)
	return testrig.DesktopImage(ctx, engine, suite, filepath.Join(bin, "berth-worker-linux-"+rig.Arch),
		filepath.Join(bin, "chatgpt-standin.deb"), map[string]string{limitsFile: limitsJSON(unhurried)})
}

// limitsFile is where an image has its limits, as addFiles and tar have paths.
var limitsFile = strings.TrimPrefix(chatgpt.DefaultLimitsFile, "/")

// Limits of what must come, on a machine that has much else to do: where nothing is waited for in vain, and
// where a screen is.
var (
	unhurried = chatgpt.LimitsMs{Overall: 300_000, FirstUI: 120_000, Screen: 60_000, Open: 60_000, Draft: 60_000, Handoff: 60_000}
	inVain    = chatgpt.LimitsMs{Overall: 300_000, FirstUI: 120_000, Screen: 15_000, Open: 60_000, Draft: 60_000, Handoff: 60_000}
)

// limitsJSON is a file of limits for all variants.
func limitsJSON(l chatgpt.LimitsMs) string {
	text, err := json.Marshal(map[string]chatgpt.LimitsMs{"": l})
	if err != nil {
		panic(err) // they are numbers
	}
	return string(text)
}

func desktopImage(t *testing.T, suite string) string {
	t.Helper()
	ref, err := desktopImages[suite]()
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// onSuites runs a test on each suite.
func onSuites(t *testing.T, test func(t *testing.T, suite string)) {
	for _, suite := range testrig.Suites {
		t.Run(suite, func(t *testing.T) { test(t, suite) })
	}
}

// newChatGPT is newProject for client chatgpt on a suite.
func newChatGPT(t *testing.T, suite string, cases []rig.Object, change ...func(eval rig.Object)) *rig.Project {
	t.Helper()
	rig.TakePlace(t)
	ref := desktopImage(t, suite)
	chatgpt := func(eval rig.Object) { eval["client"] = "chatgpt" }
	p := rig.Prepared.Project(t, cases, append([]func(rig.Object){chatgpt}, change...)...)
	p.UseImage(ref)
	return p
}

// damagedImage makes an image of another one with some files replaced, which goes with the test.
func damagedImage(t *testing.T, ref string, replace func(container string)) string {
	t.Helper()
	container := rig.PodmanDo(t, "create", ref, "true")
	replace(container)
	damaged := "localhost/berth-e2e-damaged:" + container[:12]
	rig.PodmanDo(t, "commit", "--quiet", container, damaged)
	rig.PodmanDo(t, "rm", container)
	t.Cleanup(func() { rig.PodmanDo(t, "rmi", damaged) })
	return damaged
}

// putFile writes a file into a container that doesn't run.
func putFile(t *testing.T, container, path, content string, mode os.FileMode) {
	t.Helper()
	name := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	rig.PodmanDo(t, "cp", name, container+":"+path)
}

// copyFile copies a file to another place in a container that doesn't run.
func copyFile(t *testing.T, container, from, to string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), filepath.Base(to))
	rig.PodmanDo(t, "cp", container+":"+from, name)
	rig.PodmanDo(t, "cp", name, container+":"+to)
}

// scenarioImage is a suite's image in which the stand-in behaves as a scenario says.
func scenarioImage(t *testing.T, suite, scenario string) string {
	t.Helper()
	return scenariosImage(t, suite, map[string]string{"scenario.json": scenario})
}

// scenariosImage is an image with several, of which a variant chooses one by CHATGPT_STANDIN_SCENARIO in its
// clientOptions.env. A screen may be waited for in vain.
func scenariosImage(t *testing.T, suite string, files map[string]string) string {
	t.Helper()
	return damagedImage(t, desktopImage(t, suite), func(container string) {
		dir := filepath.Join(t.TempDir(), "chatgpt-standin")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, scenario := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(scenario), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		rig.PodmanDo(t, "cp", dir, container+":/etc/")
		putFile(t, container, chatgpt.DefaultLimitsFile, limitsJSON(inVain), 0o644)
	})
}
