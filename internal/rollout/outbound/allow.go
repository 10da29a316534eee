// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// allowList is a list of hosts. An empty one allows all.
type allowList []hostPattern

type hostPattern struct {
	host string
	// below is whether the names below the host are meant, and not the host itself.
	below bool
	// port is empty for any.
	port string
}

func parseAllowList(patterns []string) (allowList, error) {
	var list allowList
	for _, text := range patterns {
		p := hostPattern{host: strings.TrimSpace(text)}
		if host, port, err := net.SplitHostPort(p.host); err == nil {
			p.host, p.port = host, port
		}
		p.host, p.below = strings.CutPrefix(p.host, "*.")
		p.host = canonicalHost(strings.TrimSuffix(strings.TrimPrefix(p.host, "["), "]"))
		if p.host == "" || strings.ContainsAny(p.host, "*/@ \t?#[]") || strings.Trim(p.port, "0123456789") != "" {
			return nil, fmt.Errorf("host %q: write a name, *.name for all names below one, or an address, each with :port or without", text)
		}
		list = append(list, p)
	}
	return list, nil
}

func (l allowList) allows(u *url.URL) bool {
	if len(l) == 0 {
		return true
	}
	host, port := canonicalHost(u.Hostname()), portOf(u)
	for _, p := range l {
		isHost := host == p.host
		if p.below {
			isHost = strings.HasSuffix(host, "."+p.host)
		}
		if isHost && (p.port == "" || p.port == port) {
			return true
		}
	}
	return false
}

// canonicalHost writes the same host always in the same way.
func canonicalHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// origin is what a call belongs to: everything behind it is one server.
func origin(u *url.URL) string {
	return u.Scheme + "://" + net.JoinHostPort(canonicalHost(u.Hostname()), portOf(u))
}
