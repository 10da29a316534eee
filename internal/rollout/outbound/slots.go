// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"sync"
)

// slots bounds how many calls each server gets at a time.
type slots struct {
	size int

	mu      sync.Mutex
	servers map[string]*line
}

// line is who calls a server or waits for it.
type line struct {
	taken chan struct{}
	users int
}

// take waits for a slot. Who got one gives it back by calling release.
func (s *slots) take(ctx context.Context, server string) (release func(), err error) {
	s.mu.Lock()
	l := s.servers[server]
	if l == nil {
		l = &line{taken: make(chan struct{}, s.size)}
		s.servers[server] = l
	}
	l.users++
	s.mu.Unlock()

	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.servers, server)
		}
	}
	select {
	case l.taken <- struct{}{}:
		return func() { <-l.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
