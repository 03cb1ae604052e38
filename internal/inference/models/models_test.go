package models

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
		err  string
	}{
		{`{"object":"list","data":[{"id":"gpt-5.5","object":"model"},{"id":"b"}]}`, []string{"gpt-5.5", "b"}, ""},
		{`{"models":[{"slug":"gpt-6-luna","display_name":"Luna"},{"id":"x"}]}`, []string{"gpt-6-luna", "x"}, ""},
		{`{"data":[]}`, []string{}, ""},
		{`{"error":{"message":"no"}}`, nil, "not a models list"},
		{`{}`, nil, "not a models list"},
		{`<html>`, nil, "isn't JSON"},
		{``, nil, "isn't JSON"},
		{`{"data":{"id":"x"}}`, nil, "isn't JSON"},
	} {
		got, err := Parse([]byte(tt.in))
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Parse(%s) = %q, %v; want %q, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestFailureGoesThroughAnAnswer(t *testing.T) {
	want := Failure{Code: "inference_unavailable", Phase: PhaseTLS, Message: "unknown authority"}
	w := httptest.NewRecorder()
	WriteFailure(w, 502, want)
	got, ok := FailureOf(w.Result().Header, w.Body.Bytes())
	if !ok || got != want || w.Code != 502 {
		t.Errorf("got %+v, %v, status %d", got, ok, w.Code)
	}
	if _, ok := FailureOf(nil, w.Body.Bytes()); ok {
		t.Error("a gateway's own answer was taken for a failure of the tunnel")
	}
	if f, ok := FailureOf(w.Result().Header, []byte("cut")); !ok || f.Phase != PhaseTLS {
		t.Errorf("without a body: %+v, %v", f, ok)
	}
}
