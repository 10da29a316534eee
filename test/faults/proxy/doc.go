// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between one client and an API server, and makes the trouble that networks and busy servers make:
// it cuts the client off, is slow, answers with errors, loses answers, drops watches and shows them late.
//
// The client talks TLS (HTTP/1.1 or HTTP/2) to a loopback address with a certificate of the proxy's own, and must
// authenticate with a token: a client certificate would end here. The proxy marks each request in its user agent, so
// that the server's audit log tells several clients apart.
//
// It knows nothing of what it carries but whether a request reads, writes, watches or concerns a lease.
package proxy
