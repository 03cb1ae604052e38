package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestQuotaBoundsEachName(t *testing.T) {
	q := newQuota(map[string]int{"provider:openai": 2, "server:wiki": 1})
	var openai, wiki, worstOpenAI, worstWiki atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			names := []string{"provider:openai"}
			if i%2 == 0 {
				names = append(names, "server:wiki")
			}
			release, err := q.acquire(t.Context(), names)
			if err != nil {
				t.Error(err)
				return
			}
			raise(&worstOpenAI, openai.Add(1))
			if len(names) == 2 {
				raise(&worstWiki, wiki.Add(1))
				wiki.Add(-1)
			}
			openai.Add(-1)
			release()
			release() // a second release gives nothing back
		})
	}
	wg.Wait()
	if worstOpenAI.Load() > 2 || worstWiki.Load() > 1 {
		t.Errorf("at once: %d of provider, %d of server", worstOpenAI.Load(), worstWiki.Load())
	}
	if q.free["provider:openai"] != 2 || q.free["server:wiki"] != 1 {
		t.Errorf("places left: %v", q.free)
	}
}

func TestQuotaWaitEndsWithContext(t *testing.T) {
	q := newQuota(map[string]int{"provider:openai": 1})
	if _, err := q.acquire(t.Context(), []string{"provider:openai"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := q.acquire(ctx, []string{"provider:openai"}); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
	if release, err := q.acquire(t.Context(), []string{"server:unlimited"}); err != nil {
		t.Errorf("a name without a limit waits: %v", err)
	} else {
		release()
	}
}

func raise(worst *atomic.Int64, n int64) {
	for {
		w := worst.Load()
		if n <= w || worst.CompareAndSwap(w, n) {
			return
		}
	}
}
