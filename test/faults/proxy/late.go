// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"sync"
	"time"
)

// late is a stream that is shown some time after it came, in order.
type late struct {
	source io.ReadCloser
	delay  func() time.Duration
	chunks chan chunk
	rest   []byte
	err    error
	once   sync.Once
	closed chan struct{}
}

// chunk is what one read of the source gave, and when.
type chunk struct {
	at    time.Time
	bytes []byte
	err   error
}

// newLate asks for the delay anew for everything that it shows.
func newLate(source io.ReadCloser, delay func() time.Duration) *late {
	l := &late{source: source, delay: delay, chunks: make(chan chunk, 10000), closed: make(chan struct{})}
	go l.listen()
	return l
}

// listen reads the source as soon as it says something, so that its own time is known.
func (l *late) listen() {
	defer close(l.chunks)
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.source.Read(buffer)
		select {
		case l.chunks <- chunk{at: time.Now(), bytes: append([]byte(nil), buffer[:n]...), err: err}:
		case <-l.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *late) Read(into []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		next, open := <-l.chunks
		if !open {
			return 0, io.ErrUnexpectedEOF
		}
		timer := time.NewTimer(time.Until(next.at.Add(l.delay())))
		select {
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			return 0, io.ErrClosedPipe
		}
		l.rest, l.err = next.bytes, next.err
	}
	n := copy(into, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close ends the source too.
func (l *late) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.source.Close()
}
