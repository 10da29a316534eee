// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

const (
	// DefaultPerHost is how many calls one server gets at a time.
	DefaultPerHost = 8
	// maxRedirects is how many redirects of one call are followed.
	maxRedirects = 5
	// maxHeader is how many bytes the head of an answer may have.
	maxHeader = 64 << 10
)

// ErrRefused is an error of a call that is not made, and never will be: its address is none, or its host must not be called.
var ErrRefused = errors.New("refused")

// Options tune a client.
type Options struct {
	// AllowHosts are the only hosts that are called: "approvals.example.com" is one host, "*.example.com" are all names below
	// one and not the name itself, "10.0.0.7" and "[fd00::7]" are addresses; a name is not looked up to compare it. With
	// ":8443" behind it only that port is meant (80 and 443 where a URL has none), else any. Empty allows all hosts but
	// link-local addresses, where clouds tell a machine its secrets.
	AllowHosts []string
	// PerHost is how many calls one scheme, host and port gets at a time; others wait for their turn, which does not count for
	// their timeout. 0 means DefaultPerHost.
	PerHost int
	// UserAgent is what the client calls itself. Empty means "slipway".
	UserAgent string
	// Clock measures timeouts.
	Clock clock.WithDelayedExecution
}

// Client makes calls. It is safe for concurrent use.
type Client struct {
	allowed   allowList
	userAgent string
	clock     clock.WithDelayedExecution
	slots     slots
	// strict checks certificates; lax does not.
	strict, lax *http.Transport
}

// New returns a client. It fails when an allowed host is not written as one.
func New(o Options) (*Client, error) {
	allowed, err := parseAllowList(o.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("reading the hosts that may be called: %w", err)
	}
	c := &Client{
		allowed: allowed, userAgent: cmp.Or(o.UserAgent, "slipway"), clock: o.Clock,
		slots: slots{size: cmp.Or(o.PerHost, DefaultPerHost), servers: map[string]*line{}},
	}
	c.strict, c.lax = c.transport(false), c.transport(true)
	return c, nil
}

// Close closes the connections that no call uses any more.
func (c *Client) Close() {
	c.strict.CloseIdleConnections()
	c.lax.CloseIdleConnections()
}

func (c *Client) transport(insecure bool) *http.Transport {
	dialer := &net.Dialer{}
	if len(c.allowed) == 0 {
		dialer.Control = refuseLinkLocal
	}
	return &http.Transport{
		Proxy:                  nil, // on purpose: see the package
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    c.slots.size,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// refuseLinkLocal looks at the address after the name was looked up.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	if addr, err := netip.ParseAddrPort(address); err == nil && addr.Addr().Unmap().IsLinkLocalUnicast() {
		return fmt.Errorf("%w: it has a link-local address, which only an allow-list can permit", ErrRefused)
	}
	return nil
}

// Visit is a server to call, and how.
type Visit struct {
	// Address is the URL of the call, or the base of its URLs.
	Address string
	// Credentials go with each request; without them those of the address do.
	Credentials Credentials
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// Timeout of the whole visit, once it is its turn.
	Timeout time.Duration
	// MaxBody is how many bytes of an answer can be read; reading more fails with an *http.MaxBytesError.
	MaxBody int64
	// Stay tells which redirects are an answer by themselves, by their status. Nil means none.
	Stay func(status int) bool
}

// Trace is what was seen during a visit.
type Trace struct {
	// Status of the last answer; 0 when there was none.
	Status int
	// Complete is whether it was read to its end.
	Complete bool
	// RetryAfter is how long the last answer asked to wait.
	RetryAfter time.Duration
	// Redirect says why a redirect was not followed; empty when there was none of these.
	Redirect string
}

// Visit calls a server through the client that it gives to call. Its error says in one line, without secrets and ports of ours,
// what went wrong, and wraps what call returned; it is ErrRefused when there was no use in trying.
func (c *Client) Visit(ctx context.Context, v Visit, call func(ctx context.Context, client *http.Client) error) (Trace, error) {
	u, err := c.accept(v.Address)
	if err != nil {
		return Trace{}, err
	}
	release, err := c.slots.take(ctx, origin(u))
	if err != nil {
		return Trace{}, err
	}
	defer release()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := &failure{message: fmt.Sprintf("no answer within %s", v.Timeout)}
	timer := c.clock.AfterFunc(v.Timeout, func() { cancel(late) })
	defer timer.Stop()

	transport := c.strict
	if v.InsecureSkipVerify {
		transport = c.lax
	}
	t := &trip{client: c, visit: v, origin: origin(u), through: transport}
	err = call(ctx, &http.Client{Transport: t, CheckRedirect: t.redirect})
	switch {
	case err == nil:
		return t.trace, nil
	case errors.Is(context.Cause(ctx), late):
		return t.trace, late
	default:
		return t.trace, &failure{message: v.Clean(reason(err)), cause: err}
	}
}

// accept reads an address that may be called.
func (c *Client) accept(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil { // the error has parts of the address
		return nil, fmt.Errorf("%w: the URL cannot be read", ErrRefused)
	}
	_, portErr := strconv.ParseUint(portOf(u), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%w: the URL is neither http nor https", ErrRefused)
	case u.Hostname() == "" || portErr != nil:
		return nil, fmt.Errorf("%w: the URL names no host", ErrRefused)
	case !c.allowed.allows(u):
		return nil, fmt.Errorf("%w: host %s is not among those that may be called", ErrRefused, u.Host)
	}
	return u, nil
}
