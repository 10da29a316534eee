// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"sync"
)

// listener knows its open connections, so that it can end them.
type listener struct {
	net.Listener
	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

// Accept returns the next connection that is not cut off.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
	}
}

func (l *listener) admit(accepted net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		_ = accepted.Close()
		return nil
	}
	c := &conn{Conn: accepted, of: l}
	l.conns[c] = true
	return c
}

// cut ends all connections and every new one, until it is called with false.
func (l *listener) cut(off bool) {
	l.mu.Lock()
	l.off = off
	var open []net.Conn
	if off {
		for c := range l.conns {
			open = append(open, c)
		}
	}
	l.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

type conn struct {
	net.Conn
	of *listener
}

// Close forgets the connection.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
