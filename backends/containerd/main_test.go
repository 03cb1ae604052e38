package containerd_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/oci"
)

// With these in the environment the test's binary is a berth that makes shards until it's killed.
const (
	lifeImage  = "BERTH_TEST_LIFE_IMAGE"
	lifeLayout = "BERTH_TEST_LIFE_LAYOUT"
)

func TestMain(m *testing.M) {
	containerd.RunNetworkHelper()
	if address := os.Getenv(asDNS); address != "" {
		fmt.Fprintln(os.Stderr, "the nameserver:", serveDNS(address))
		os.Exit(1)
	}
	if ref := os.Getenv(inContainer); ref != "" {
		if err := tryFromContainer(context.Background(), ref); err != nil {
			fmt.Println("in a container:", err)
			os.Exit(1)
		}
		return
	}
	if ref := os.Getenv(lifeImage); ref != "" {
		err := live(context.Background(), ref, os.Getenv(lifeLayout))
		fmt.Fprintln(os.Stderr, "the berth to be killed:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// lifeSteps are what live tells, each before it's done.
var lifeSteps = []string{"create", "start", "exec", "remove", "import", "another", "over"}

func live(ctx context.Context, ref, layout string) error {
	self, err := owner.Self()
	if err != nil {
		return err
	}
	b, err := containerd.New(ctx, containerd.Options{})
	if err != nil {
		return err
	}
	spec, err := oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}}.Spec()
	if err != nil {
		return err
	}
	labels := owner.Shard{Run: "killed", Created: time.Now(), Owner: self}.Labels()
	for {
		fmt.Println("create")
		s, err := b.Create(ctx, backends.Config{Name: fmt.Sprintf("killed-%d", os.Getpid()), Image: ref, Spec: spec, Network: backends.NetworkEngine, Labels: labels})
		if err != nil {
			return err
		}
		fmt.Println("start")
		if err := s.Start(ctx); err != nil {
			return err
		}
		fmt.Println("exec")
		p := backends.Process{Args: []string{backendtest.ProbePath, "cat"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}
		if _, err := s.Exec(ctx, p); err != nil {
			return err
		}
		fmt.Println("remove")
		if err := s.Remove(ctx); err != nil {
			return err
		}
		fmt.Println("import")
		if err := importFile(ctx, b, ref, layout); err != nil {
			return err
		}
		fmt.Println("another")
		if err := importFile(ctx, b, ref+"-other", layout); err != nil {
			return err
		}
		fmt.Println("over")
		if err := b.RemoveImage(ctx, ref+"-other"); err != nil {
			return err
		}
	}
}

func importFile(ctx context.Context, b backends.Backend, ref, layout string) error {
	f, err := os.Open(layout)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = b.ImportImage(ctx, ref, f)
	return err
}
