// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Options say whom the proxy serves.
type Options struct {
	// Name marks the requests: their user agent ends in " via/<name>".
	Name string
	// Server is the URL of the API server, Authority the PEM of who signed its certificate.
	Server    string
	Authority []byte
	// Seed decides every random choice; their order is that of the requests.
	Seed uint64
}

// Proxy is a running proxy.
type Proxy struct {
	options  Options
	listener *listener
	server   *http.Server
	carry    *httputil.ReverseProxy
	identity *identity
	rules    atomic.Pointer[Rules]
	requests atomic.Int64

	mu      sync.Mutex
	random  *rand.Rand
	watches map[*http.Request]context.CancelFunc
}

// Start listens on a free loopback port. The proxy makes no trouble until Set.
func Start(options Options) (*Proxy, error) {
	target, err := url.Parse(options.Server)
	if err != nil {
		return nil, fmt.Errorf("reading the server's address: %w", err)
	}
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(options.Authority) {
		return nil, errors.New("the server's authority is no certificate")
	}
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	p := &Proxy{
		options: options, listener: &listener{Listener: open, conns: map[net.Conn]bool{}}, identity: id,
		random: rand.New(rand.NewPCG(options.Seed, 1)), watches: map[*http.Request]context.CancelFunc{},
	}
	p.rules.Store(&Rules{})
	quiet := log.New(io.Discard, "", 0) // what is cut off on purpose is no news
	p.carry = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("User-Agent", r.In.UserAgent()+" via/"+options.Name)
		},
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100,
		},
		FlushInterval:  -1,
		ModifyResponse: p.answer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as if there were no proxy
		ErrorLog:       quiet,
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.serve), ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{id.pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = p.server.ServeTLS(p.listener, "", "") }()
	return p, nil
}

// URL is where the client finds the proxy; Authority is the PEM by which it trusts it.
func (p *Proxy) URL() string { return "https://" + p.listener.Addr().String() }

// Authority is the PEM of the certificate that the proxy shows.
func (p *Proxy) Authority() []byte { return p.identity.pem }

// Requests is how many requests have come so far, but for those for leases, also those that were refused.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Set makes other trouble from now on. Open watches end where watches are dropped.
func (p *Proxy) Set(rules Rules) {
	p.rules.Store(&rules)
	p.listener.cut(rules.Cut)
	if rules.WatchLife > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, end := range p.watches {
			end()
		}
	}
}

// Close ends the proxy and all that goes through it.
func (p *Proxy) Close() error {
	p.listener.cut(true)
	if err := p.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the proxy %s: %w", p.options.Name, err)
	}
	return nil
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	rules := p.rules.Load()
	if !ofLeases(r) {
		p.requests.Add(1)
	}
	if rules.Cut || rules.CutLeases && ofLeases(r) {
		panic(http.ErrAbortHandler)
	}
	if p.chance(rules.Refuse) {
		p.refuse(w, r)
		return
	}
	if writes(r) && rules.WriteDelay > 0 && !pause(r.Context(), p.upTo(rules.WriteDelay)) {
		return // the client has gone, or was cut off
	}
	if watches(r) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		r = r.WithContext(ctx)
		p.remember(r, end)
		defer p.forget(r)
		if rules.WatchLife > 0 {
			defer time.AfterFunc(p.upTo(rules.WatchLife), end).Stop()
		}
	}
	p.carry.ServeHTTP(w, r)
}

// answer changes what the server answers on its way back.
func (p *Proxy) answer(response *http.Response) error {
	rules := p.rules.Load()
	switch request := response.Request; {
	case watches(request):
		response.Body = newLate(response.Body, func() time.Duration { return p.rules.Load().WatchDelay })
	case writes(request) && response.StatusCode < http.StatusMultipleChoices && p.chance(rules.Lose):
		return lose(response)
	}
	return nil
}

func (p *Proxy) remember(r *http.Request, end context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches[r] = end
}

func (p *Proxy) forget(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watches, r)
}

func (p *Proxy) chance(share float64) bool {
	if share <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.Float64() < share
}

// upTo is a random time between half of most and most.
func (p *Proxy) upTo(most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return most/2 + time.Duration(p.random.Int64N(int64(most/2)+1))
}

// pause waits, and is false when ctx ends before.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
