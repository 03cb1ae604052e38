package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// cutting is a link that is lost in the middle of its first transfers.
type cutting struct {
	channel.Shard
	file []byte
	cuts int
}

func (c *cutting) Get(_ context.Context, _ string, w io.Writer) error {
	if c.cuts > 0 {
		c.cuts--
		_, err := w.Write(c.file[:len(c.file)/2])
		return errors.Join(fmt.Errorf("get: %w", channel.ErrInterrupted), err)
	}
	_, err := w.Write(c.file)
	return err
}

// TestFetchOverLostLinks: a finished trial's result isn't lost with the link that was to bring it.
func TestFetchOverLostLinks(t *testing.T) {
	key := shardproto.Key{Variant: "v", CaseID: "c", Trial: 1}
	want := client.Result{DurationMs: 7, SessionID: "s"}
	body, err := json.Marshal(shardproto.ResultFile{Format: shardproto.Format, Kind: shardproto.KindResult, Key: key, Result: want})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := tar1(&file, "0.json", body); err != nil {
		t.Fatal(err)
	}
	for cuts, lost := range map[int]bool{0: false, 1: false, attempts - 1: false, attempts: true} {
		c := &collector{limit: time.Minute}
		got, err := c.fetch(t.Context(), &cutting{file: file.Bytes(), cuts: cuts}, "0/0.json", key)
		switch {
		case lost && !errors.Is(err, channel.ErrInterrupted):
			t.Errorf("%d cuts: %v", cuts, err)
		case !lost && (err != nil || got.SessionID != want.SessionID || got.DurationMs != want.DurationMs):
			t.Errorf("%d cuts: %+v, %v", cuts, got, err)
		}
	}
}
