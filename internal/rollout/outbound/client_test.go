// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"slipway.dev/slipway/test/receiver"
)

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func visit(address string) Visit {
	return Visit{Address: address, Timeout: time.Minute, MaxBody: 1 << 10}
}

func get(t *testing.T, c *Client, v Visit) (Answer, error) {
	t.Helper()
	return c.Call(t.Context(), v, Request{Method: http.MethodGet})
}

func TestRedirects(t *testing.T) {
	here, there := receiver.For(t), receiver.For(t)
	here.On("/elsewhere", receiver.Redirect(302, there.URL("/secret")))
	here.On("/up", receiver.Redirect(302, strings.Replace(here.URL("/end"), "http:", "https:", 1)))
	here.On("/1", receiver.Redirect(301, "/2"))
	here.On("/2", receiver.Redirect(307, here.URL("/3")))
	here.On("/3", receiver.Redirect(308, "/4"))
	here.On("/4", receiver.Redirect(303, "/5"))
	here.On("/5", receiver.Redirect(302, "/end"))
	here.On("/0", receiver.Redirect(302, "/1"))
	here.On("/loop", receiver.Redirect(302, "/loop"))
	here.On("/post", receiver.Redirect(303, "/end"))
	here.On("/end", receiver.Answer(200, "here"))
	for name, tt := range map[string]struct {
		method, path string
		stay         bool
		status       int
		redirect     string
	}{
		"to the same host they are followed":         {"GET", "/1", false, 200, ""},
		"but not more than five":                     {"GET", "/0", false, 302, "more than 5 redirects are not followed"},
		"nor in a circle":                            {"GET", "/loop", false, 302, "more than 5 redirects are not followed"},
		"to another host they are not":               {"GET", "/elsewhere", false, 302, "redirects to another scheme, host or port are not followed"},
		"to another scheme they are not":             {"GET", "/up", false, 302, "redirects to another scheme, host or port are not followed"},
		"a POST is not followed":                     {"POST", "/post", false, 303, "redirects of a POST are not followed"},
		"a PUT is not followed":                      {"PUT", "/1", false, 301, "redirects of a PUT are not followed"},
		"one that is an answer by itself stays one":  {"GET", "/1", true, 301, ""},
		"that holds for one to another host as well": {"GET", "/elsewhere", true, 302, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, v := newClient(t, Options{}), visit(here.URL(tt.path))
			if tt.stay {
				v.Stay = func(int) bool { return true }
			}
			answer, err := c.Call(t.Context(), v, Request{Method: tt.method, Body: []byte("{}")})
			if err != nil || answer.Status != tt.status || answer.Redirect != tt.redirect {
				t.Errorf("got status %d, redirect %q and error %v, want %d and %q", answer.Status, answer.Redirect, err, tt.status, tt.redirect)
			}
		})
	}
	if got := there.Deliveries(""); len(got) != 0 {
		t.Errorf("the other host was called: %+v", got)
	}
}

func TestAddressesThatAreNotCalled(t *testing.T) {
	r := receiver.For(t)
	for name, tt := range map[string]struct {
		allow         []string
		address, want string
	}{
		"another scheme":                        {nil, "file:///etc/passwd", "refused: the URL is neither http nor https"},
		"none":                                  {nil, "approvals.example.com/x", "refused: the URL is neither http nor https"},
		"no host":                               {nil, "http://:80/x", "refused: the URL names no host"},
		"a port that is none":                   {nil, "http://a.test:99999", "refused: the URL names no host"},
		"no URL, and its secret is not told":    {nil, "http://user:hunter22@a.test:port/", "refused: the URL cannot be read"},
		"a host that is not on the list":        {[]string{"a.test"}, r.URL("/x?token=hunter22"), "refused: host " + strings.TrimPrefix(r.URL(""), "http://") + " is not among those that may be called"},
		"a user that looks like a listed host":  {[]string{"a.test"}, "http://a.test@b.test/", "refused: host b.test is not among those that may be called"},
		"a link-local address without a list":   {nil, "http://169.254.169.254/latest/meta-data", "dial: refused: it has a link-local address, which only an allow-list can permit"},
		"the same in another way of writing it": {nil, "http://[::ffff:169.254.169.254]/", "dial: refused: it has a link-local address, which only an allow-list can permit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(t, newClient(t, Options{AllowHosts: tt.allow}), visit(tt.address))
			if !errors.Is(err, ErrRefused) || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	if got := r.Deliveries(""); len(got) != 0 {
		t.Errorf("the receiver was called: %+v", got)
	}
	c := newClient(t, Options{AllowHosts: []string{"127.0.0.1"}})
	if answer, err := get(t, c, visit(r.URL("/x"))); err != nil || answer.Status != 200 {
		t.Errorf("a host on the list: got status %d and error %v", answer.Status, err)
	}
}

func TestFailuresAreToldInTheSameWordsEachTime(t *testing.T) {
	r := receiver.For(t)
	r.On("/lost", receiver.Lose())
	r.On("/nowhere", receiver.Redirect(302, "http://%zz/?token=hunter22"))
	closed, err := receiver.Start()
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells that nobody trusts it
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	for name, tt := range map[string]struct{ address, want string }{
		"nobody listens":                 {closed.URL("/?token=hunter22"), "dial: connection refused"},
		"the connection is lost":         {r.URL("/lost?token=hunter22"), "the connection was closed before the answer was complete"},
		"the certificate is not trusted": {tlsServer.URL, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"a redirect repeats the secret":  {r.URL("/nowhere?token=hunter22"), `failed to parse Location header "http://%zz/?[hidden]": parse "http://%zz/?[hidden]": invalid URL escape "%zz"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, Options{})
			for range 2 {
				if _, err := get(t, c, visit(tt.address)); err == nil || err.Error() != tt.want || errors.Is(err, ErrRefused) {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
			}
		})
	}
	lax := visit(tlsServer.URL)
	lax.InsecureSkipVerify = true
	if answer, err := get(t, newClient(t, Options{}), lax); err != nil || answer.Status != 404 {
		t.Errorf("any certificate is accepted: got status %d and error %v", answer.Status, err)
	}
}

// listening is a clock that tells when it is asked for the time, as it is for the head of each answer.
type listening struct {
	*clocktesting.FakeClock
	asked chan struct{}
}

func (l listening) Now() time.Time {
	close(l.asked)
	return l.FakeClock.Now()
}

func TestTimeouts(t *testing.T) {
	r := receiver.For(t)
	r.On("/hangs", receiver.Hang())
	r.On("/stalls", receiver.Stall(202, "half"))
	t.Run("a receiver that hangs gives no answer", func(t *testing.T) {
		fake := listening{clocktesting.NewFakeClock(time.Now()), make(chan struct{})}
		delivered := r.Next()
		go func() {
			<-delivered
			fake.Step(time.Minute)
		}()
		answer, err := get(t, newClient(t, Options{Clock: fake}), visit(r.URL("/hangs")))
		if want := "no answer within 1m0s"; err == nil || err.Error() != want || answer.Status != 0 {
			t.Errorf("got status %d and error %v, want none and %s", answer.Status, err, want)
		}
	})
	t.Run("one that stalls in the middle has answered in part", func(t *testing.T) {
		fake := listening{clocktesting.NewFakeClock(time.Now()), make(chan struct{})}
		go func() {
			<-fake.asked
			fake.Step(time.Minute)
		}()
		answer, err := get(t, newClient(t, Options{Clock: fake}), visit(r.URL("/stalls")))
		if want := "no answer within 1m0s"; err != nil || answer.Status != 202 || answer.Incomplete == nil || answer.Incomplete.Error() != want {
			t.Errorf("got status %d, error %v, incomplete: %v, want 202, none and %s", answer.Status, err, answer.Incomplete, want)
		}
	})
}

func TestOneServerThatHangsDelaysOnlyItsOwnCalls(t *testing.T) {
	hangs, works := receiver.For(t), receiver.For(t)
	hangs.On("/", receiver.Hang())
	c := newClient(t, Options{PerHost: 2})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 5)
	for range cap(ended) {
		go func() {
			_, err := c.Call(ctx, visit(hangs.URL("/")), Request{Method: http.MethodGet})
			ended <- err
		}()
	}
	for next := hangs.Next(); len(hangs.Deliveries("")) < 2; next = hangs.Next() {
		<-next
	}
	for range 20 {
		if _, err := get(t, c, visit(works.URL("/"))); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(hangs.Deliveries("")); got != 2 {
		t.Errorf("%d calls reached the server that hangs, want 2", got)
	}
	cancel()
	for range cap(ended) {
		if err := <-ended; err == nil {
			t.Error("a call that was cancelled succeeded")
		}
	}
	if left := len(c.slots.servers); left != 0 {
		t.Errorf("%d servers are remembered after the last call, want none", left)
	}
}

func TestBodiesAreReadUpToALimit(t *testing.T) {
	r := receiver.For(t)
	r.On("/long", receiver.Answer(200, strings.Repeat("x", 2000)))
	answer, err := get(t, newClient(t, Options{}), visit(r.URL("/long")))
	var long *http.MaxBytesError
	if err != nil || len(answer.Body) != 1<<10 || !errors.As(answer.Incomplete, &long) {
		t.Errorf("got %d bytes, error %v and incomplete: %v, want the first 1024", len(answer.Body), err, answer.Incomplete)
	}
	if want := "the answer has more than 1024 bytes"; answer.Incomplete.Error() != want {
		t.Errorf("got %q, want %q", answer.Incomplete, want)
	}
}

func TestWhatIsSent(t *testing.T) {
	r := receiver.For(t)
	for name, tt := range map[string]struct {
		address     string
		credentials Credentials
		want        string
	}{
		"nothing by default":            {r.URL("/"), Credentials{}, ""},
		"a token":                       {r.URL("/"), Credentials{Token: "t0ken"}, "Bearer t0ken"},
		"a password":                    {r.URL("/"), Credentials{Username: "me", Password: "pw"}, "Basic bWU6cHc="},
		"what the address has":          {strings.Replace(r.URL("/"), "://", "://me:pw@", 1), Credentials{}, "Basic bWU6cHc="},
		"a Secret before the address's": {strings.Replace(r.URL("/"), "://", "://me:pw@", 1), Credentials{Token: "t0ken"}, "Bearer t0ken"},
	} {
		t.Run(name, func(t *testing.T) {
			v := visit(tt.address)
			v.Credentials = tt.credentials
			if _, err := get(t, newClient(t, Options{UserAgent: "slipway/test"}), v); err != nil {
				t.Fatal(err)
			}
			all := r.Deliveries("")
			header := all[len(all)-1].Header
			if got := header.Get("Authorization"); got != tt.want {
				t.Errorf("Authorization: got %q, want %q", got, tt.want)
			}
			if got := header.Get("User-Agent"); got != "slipway/test" {
				t.Errorf("User-Agent: got %q", got)
			}
		})
	}
}

// A client for another server is of no use in a visit: its requests would be neither allowed nor bounded.
func TestAVisitStaysWhereItIs(t *testing.T) {
	here, there := receiver.For(t), receiver.For(t)
	c := newClient(t, Options{})
	_, err := c.Visit(t.Context(), visit(here.URL("/")), func(ctx context.Context, client *http.Client) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, there.URL("/"), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	})
	if !errors.Is(err, ErrRefused) || len(there.Deliveries("")) != 0 {
		t.Errorf("got error %v and %d calls elsewhere, want a refusal and none", err, len(there.Deliveries("")))
	}
}

// The library never uses a proxy for the loopback device, so this cannot be seen from outside.
func TestNoProxyIsUsed(t *testing.T) {
	c := newClient(t, Options{})
	if c.strict.Proxy != nil || c.lax.Proxy != nil {
		t.Error("the environment could send calls elsewhere")
	}
}

func TestCloseClosesConnections(t *testing.T) {
	states := make(chan http.ConnState, 10)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) { states <- s }
	server.Start()
	t.Cleanup(server.Close)
	c := newClient(t, Options{})
	if _, err := get(t, c, visit(server.URL)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for s := range states {
		if s == http.StateClosed {
			return
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"30":                            30 * time.Second,
		"-5":                            0,
		"soon":                          0,
		"99999999999999":                0,
		"Fri, 02 Jan 2026 12:01:00 GMT": time.Minute,
		"Fri, 02 Jan 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	v := visit("http://me:s3cret%2Fpw@a.test/x?token=abcd%20efgh&v=1&name=long-value#fragment")
	v.Credentials = Credentials{Username: "robot", Password: "t0psecret"}
	for text, want := range map[string]string{
		"":                           "",
		" a \n\t b\x00\x1b[31mc ":    "a b [31mc",
		"bad \xff byte":              "bad � byte",
		"v=1 and 1":                  "v=1 and 1",
		"abcd efgh, abcd%20efgh":     "[hidden], [hidden]",
		"abcd+efgh long-value":       "[hidden] [hidden]",
		"s3cret/pw or s3cret%2Fpw":   "[hidden] or [hidden]",
		"robot:t0psecret":            "[hidden]:[hidden]",
		"Basic cm9ib3Q6dDBwc2VjcmV0": "Basic [hidden]",
		"Basic bWU6czNjcmV0L3B3":     "Basic [hidden]",
		"#fragment":                  "#[hidden]",
		strings.Repeat("ä", 300):     strings.Repeat("ä", 199) + "…",
		strings.Repeat("ä", 200):     strings.Repeat("ä", 200),
	} {
		if got := v.Clean(text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
	if got := fmt.Sprintf("%v %+v %#v", v.Credentials, v.Credentials, v.Credentials); strings.Contains(got, "secret") {
		t.Errorf("credentials are printed as %s", got)
	}
	if got := fmt.Sprintf("%+v", v); strings.Contains(got, "t0psecret") {
		t.Errorf("a visit is printed as %s", got)
	}
}
