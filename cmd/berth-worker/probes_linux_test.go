package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/channel"
)

// probes are what the test shards can run besides the worker; their image has no other program.
var probes = map[string]func([]string) int{
	"probe-agent":  probeAgent,
	"probe-orphan": probeOrphan,
	"probe-sleep":  probeSleep,
	"probe-cat":    probeCat,
}

// probeAgent does what an app under test with the worker's uid would try, and fails where one works.
func probeAgent([]string) int {
	var wrong []string
	for _, pid := range workers() {
		for _, file := range []string{"mem", "environ", "maps", "exe"} {
			if f, err := os.Open(filepath.Join("/proc", pid, file)); err == nil {
				f.Close()
				wrong = append(wrong, "could open /proc/"+pid+"/"+file)
			}
		}
	}
	if len(workers()) < 3 { // init, serve and the channel this came over
		wrong = append(wrong, fmt.Sprint("found only workers ", workers()))
	}
	if answered() {
		wrong = append(wrong, "the control socket answered")
	}
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: channel.Socket, Net: "unix"}); err == nil {
		l.Close()
		wrong = append(wrong, "could take the control socket over")
	}
	self, err := os.Open("/proc/self/exe")
	if err == nil {
		self.Close()
		wrong = append(wrong, "the worker's binary can be read")
	}
	for _, w := range wrong {
		fmt.Println(w)
	}
	return min(len(wrong), 1)
}

// workers are the pids of this binary's processes but for our own.
func workers() []string {
	var pids []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || e.Name() == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		if err == nil && strings.HasPrefix(string(line), "berth-worker") {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

// answered tells whether the control socket says anything to us, or leaves us connected.
func answered() bool {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: channel.Socket, Net: "unix"})
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	n, err := conn.Read(make([]byte, 1))
	return n > 0 || os.IsTimeout(err)
}

// probeOrphan leaves a process behind that ends at once, and one of its own that PID 1 must reap:
// it tells the zombies that stay.
func probeOrphan(args []string) int {
	if len(args) == 0 {
		for range 20 {
			middle := exec.Command(os.Args[0], "probe-orphan", "middle")
			if err := middle.Run(); err != nil {
				fmt.Println(err)
				return 1
			}
		}
		return zombies()
	}
	if args[0] == "middle" {
		return min(len(fmt.Sprint(exec.Command(os.Args[0], "probe-orphan", "leaf").Start())), 0)
	}
	return 0
}

// zombies waits for PID 1 to have reaped all.
func zombies() int {
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		left := 0
		entries, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range entries {
			stat, _ := os.ReadFile(name)
			if bytes.Contains(stat, []byte(") Z 1 ")) {
				left++
			}
		}
		if left == 0 {
			return 0
		}
	}
	fmt.Println("zombies stay")
	return 1
}

func probeSleep([]string) int {
	fmt.Println("up")
	time.Sleep(time.Hour)
	return 0
}

func probeCat([]string) int {
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	return 0
}
