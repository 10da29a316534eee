// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/test/receiver"
)

func newClient(t *testing.T, o outbound.Options) *outbound.Client {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c, err := outbound.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func call(url string, edit func(*rolloutv1alpha1.RolloutWebhook)) Call {
	c := Call{
		Key: "1.0/2/batchInitializing/approve", Namespace: "shop", Name: "web", Phase: "batchInitializing",
		Webhook: rolloutv1alpha1.RolloutWebhook{Type: rolloutv1alpha1.PreBatchRolloutHook, Name: "approve", URL: url},
	}
	if edit != nil {
		edit(&c.Webhook)
	}
	return c
}

func TestWhichAnswersPass(t *testing.T) {
	expect := func(status ...int32) func(*rolloutv1alpha1.RolloutWebhook) {
		return func(w *rolloutv1alpha1.RolloutWebhook) { w.ExpectedStatus = status }
	}
	method := func(m string) func(*rolloutv1alpha1.RolloutWebhook) {
		return func(w *rolloutv1alpha1.RolloutWebhook) { w.Method = m }
	}
	again := func(said string, after time.Duration) errand.Attempt[Answer] {
		return errand.Again[Answer](said, after)
	}
	passed := func(message string) errand.Attempt[Answer] { return errand.Done(Answer{true, message}) }
	elsewhere := receiver.For(t)
	for name, tt := range map[string]struct {
		edit   func(*rolloutv1alpha1.RolloutWebhook)
		answer receiver.Behaviour
		want   errand.Attempt[Answer]
	}{
		"200 passes":                        {nil, receiver.Answer(200, ""), passed("it answers 200 OK")},
		"204 passes":                        {nil, receiver.Answer(204, ""), passed("it answers 204 No Content")},
		"299 passes":                        {nil, receiver.Answer(299, "by Ada"), passed("it answers 299: by Ada")},
		"300 rejects":                       {nil, receiver.Answer(300, ""), rejected("it answers 300 Multiple Choices")},
		"400 rejects and says why":          {nil, receiver.Answer(400, "the change\n window is closed"), rejected("it answers 400 Bad Request: the change window is closed")},
		"404 rejects":                       {nil, receiver.Answer(404, ""), rejected("it answers 404 Not Found")},
		"what is expected passes":           {expect(404, 418), receiver.Answer(418, ""), passed("it answers 418 I'm a teapot")},
		"what is not expected rejects":      {expect(202), receiver.Answer(200, ""), rejected("it answers 200 OK")},
		"408 comes again":                   {nil, receiver.Answer(408, ""), again("it answers 408 Request Timeout", 0)},
		"425 comes again":                   {nil, receiver.Answer(425, "ask Ada"), again("it answers 425 Too Early: ask Ada", 0)},
		"429 comes again, when it is asked": {nil, receiver.AnswerWith(429, "", map[string]string{"Retry-After": "90"}), again("it answers 429 Too Many Requests", 90*time.Second)},
		"500 comes again":                   {nil, receiver.Answer(500, ""), again("it answers 500 Internal Server Error", 0)},
		"599 comes again":                   {nil, receiver.Answer(599, ""), again("it answers 599", 0)},
		"503 passes where it is expected":   {expect(503), receiver.Answer(503, ""), passed("it answers 503 Service Unavailable")},
		"503 comes again where others are":  {expect(202), receiver.Answer(503, ""), again("it answers 503 Service Unavailable", 0)},
		"a lost answer comes again":         {nil, receiver.Lose(), again("it gives no answer: the connection was closed before the answer was complete", 0)},
		"a redirect of a POST rejects":      {nil, receiver.Redirect(307, "/else"), rejected("it answers 307 Temporary Redirect (redirects of a POST are not followed)")},
		"a redirect of a GET is followed":   {method("GET"), receiver.Redirect(302, "/else"), passed("it answers 200 OK")},
		"but not to another host":           {method("GET"), receiver.Redirect(302, elsewhere.URL("/")), rejected("it answers 302 Found (redirects to another scheme, host or port are not followed)")},
		"one that is expected passes": {func(w *rolloutv1alpha1.RolloutWebhook) {
			w.Method, w.ExpectedStatus = "GET", []int32{302}
		}, receiver.Redirect(302, elsewhere.URL("/")), passed("it answers 302 Found")},
		"a long reason is cut":           {nil, receiver.Answer(409, strings.Repeat("x", 9000)), rejected("it answers 409 Conflict: " + strings.Repeat("x", 199) + "…")},
		"a reason with a secret is told": {func(w *rolloutv1alpha1.RolloutWebhook) { w.URL += "?token=hunter22" }, receiver.Answer(403, "bad token: hunter22"), rejected("it answers 403 Forbidden: bad token: [hidden]")},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiver.For(t)
			r.On("/hook", tt.answer)
			got := Errand(newClient(t, outbound.Options{}), call(r.URL("/hook"), tt.edit)).Try(t.Context())
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
	if got := elsewhere.Deliveries(""); len(got) != 0 {
		t.Errorf("another host was called: %+v", got)
	}
}

func TestWhatIsSent(t *testing.T) {
	type sent struct {
		Method, Query, ContentType, Key, Body string
	}
	metadata := &map[string]string{"ticket": "CHG-7"}
	for name, tt := range map[string]struct {
		edit func(*rolloutv1alpha1.RolloutWebhook)
		key  string
		want sent
	}{
		"by default a POST": {nil, "k", sent{"POST", "", "application/json", `"k"`, `{"name":"web","namespace":"shop","phase":"batchInitializing"}`}},
		"a PUT has the same body, and metadata": {
			func(w *rolloutv1alpha1.RolloutWebhook) { w.Method, w.Metadata = "PUT", metadata }, "k",
			sent{"PUT", "", "application/json", `"k"`, `{"name":"web","namespace":"shop","phase":"batchInitializing","metadata":{"ticket":"CHG-7"}}`},
		},
		"a GET has no body, and its URL is called as it stands": {
			func(w *rolloutv1alpha1.RolloutWebhook) {
				w.Method, w.Metadata, w.URL = "GET", metadata, w.URL+"?a=b&a=c"
			}, "k",
			sent{"GET", "a=b&a=c", "", `"k"`, ""},
		},
		"a key that no header can have is written out": {nil, "uid/1.0/ä\n\"\\%", sent{"POST", "", "application/json", `"uid/1.0/%C3%A4%0A%22%5C%25"`, `{"name":"web","namespace":"shop","phase":"batchInitializing"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiver.For(t)
			c := call(r.URL("/hook"), tt.edit)
			c.Key = tt.key
			Errand(newClient(t, outbound.Options{UserAgent: "slipway/test"}), c).Try(t.Context())
			all := r.Deliveries("")
			if len(all) != 1 {
				t.Fatalf("%d deliveries, want 1", len(all))
			}
			d := all[0]
			if diff := cmp.Diff(tt.want, sent{d.Method, d.Query, d.Header.Get("Content-Type"), d.Header.Get(KeyHeader), string(d.Body)}); diff != "" {
				t.Errorf("delivery (-want +got):\n%s", diff)
			}
			if got := d.Header.Get("User-Agent"); got != "slipway/test" {
				t.Errorf("User-Agent: got %q", got)
			}
		})
	}
}

func TestWhatMustNotBeCalledIsRejected(t *testing.T) {
	r := receiver.For(t)
	host := strings.TrimPrefix(r.URL(""), "http://")
	got := Errand(newClient(t, outbound.Options{AllowHosts: []string{"a.test"}}), call(r.URL("/hook?token=hunter22"), nil)).Try(t.Context())
	if want := rejected("it is not called: refused: host " + host + " is not among those that may be called"); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := len(r.Deliveries("")); n != 0 {
		t.Errorf("%d deliveries, want none", n)
	}
}

func TestAVersionIsOfAllThatIsSent(t *testing.T) {
	first := call("http://a.test/?token=hunter22", nil)
	same := call("http://a.test/?token=hunter22", nil)
	if a, b := first.version(), same.version(); a != b || strings.Contains(a, "hunter22") {
		t.Errorf("versions of the same call: %s and %s", a, b)
	}
	for what, edit := range map[string]func(*Call){
		"URL":      func(c *Call) { c.Webhook.URL = "http://b.test" },
		"method":   func(c *Call) { c.Webhook.Method = "PUT" },
		"expected": func(c *Call) { c.Webhook.ExpectedStatus = []int32{201} },
		"timeout":  func(c *Call) { c.Webhook.TimeoutSeconds = ptr.To[int32](1) },
		"metadata": func(c *Call) { c.Webhook.Metadata = &map[string]string{"a": "b"} },
		"phase":    func(c *Call) { c.Phase = "rolloutFailed" },
	} {
		other := first
		edit(&other)
		if other.version() == first.version() {
			t.Errorf("another %s has the same version", what)
		}
	}
}
