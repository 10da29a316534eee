// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"time"

	"slipway.dev/slipway/localcluster/realnode"
)

// validity of all certificates. A local cluster is thrown away long before.
const validity = 365 * 24 * time.Hour

// authority is a certificate authority of our own.
type authority struct {
	cert *x509.Certificate
	pem  []byte
	key  crypto.Signer
}

// identity is a certificate that an authority gave out, with its key.
type identity struct{ cert, key []byte }

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := certificate(pkix.Name{CommonName: name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back the authority %s: %w", name, err)
	}
	return &authority{cert: cert, pem: encode("CERTIFICATE", der), key: key}, nil
}

// issue gives out a certificate. With addresses or names it also serves; it always authenticates a client.
func (a *authority) issue(subject pkix.Name, addresses []net.IP, names []string, now time.Time) (identity, error) {
	key, err := newKey()
	if err != nil {
		return identity{}, err
	}
	template, err := certificate(subject, now)
	if err != nil {
		return identity{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(addresses)+len(names) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses, template.DNSNames = addresses, names
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return identity{}, fmt.Errorf("making the certificate of %s: %w", subject.CommonName, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return identity{}, err
	}
	return identity{cert: encode("CERTIFICATE", der), key: private}, nil
}

func certificate(subject pkix.Name, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity)}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// The clients of the API server. All are administrators: this is a cluster to play with, and what a
// program may do is tested with the service account that its manifests give it.
var clients = []string{"admin", "controller-manager", "scheduler", "nodes", "kubelet"}

func subjectOf(client string) pkix.Name {
	switch client {
	case "controller-manager":
		return pkix.Name{CommonName: "system:kube-controller-manager"}
	case "scheduler":
		return pkix.Name{CommonName: "system:kube-scheduler"}
	case "nodes":
		return pkix.Name{CommonName: "slipway-node", Organization: []string{"system:masters"}}
	case "kubelet":
		return pkix.Name{CommonName: "system:node:" + realnode.Name, Organization: []string{"system:masters"}}
	default:
		return pkix.Name{CommonName: "slipway-local-admin", Organization: []string{"system:masters"}}
	}
}

// complete is the file that says that all certificates are there. It has another name whenever one more is needed, so
// that a cluster that was left behind gets all anew.
const complete = "complete-2"

// makeCertificates writes what the processes need to know each other, if it is not there yet.
// The kubelet of a real node serves at the address node.
// etcd has an authority of its own, so that a certificate for the API server never opens the data behind it, and so
// has the aggregation layer, whose client may speak for anybody.
func makeCertificates(files layout, node netip.Addr, now time.Time) error {
	if _, err := os.Stat(files.pki(complete)); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for the certificates: %w", err)
	}
	plane, err := newAuthority("slipway-local", now)
	if err != nil {
		return err
	}
	store, err := newAuthority("slipway-local-etcd", now)
	if err != nil {
		return err
	}
	proxy, err := newAuthority("slipway-local-front-proxy", now)
	if err != nil {
		return err
	}
	content := map[string][]byte{"ca.crt": plane.pem, "etcd-ca.crt": store.pem, "front-proxy-ca.crt": proxy.pem}
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), serviceAddress()}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	issue := func(file string, by *authority, subject pkix.Name, addresses []net.IP, names []string) {
		id, issueErr := by.issue(subject, addresses, names, now)
		err = errors.Join(err, issueErr)
		content[file+".crt"], content[file+".key"] = id.cert, id.key
	}
	issue("plane", plane, pkix.Name{CommonName: "slipway-local-plane"}, loopback, names)
	issue("etcd", store, pkix.Name{CommonName: "etcd"}, loopback[:1], names[:1])
	issue("etcd-client", store, pkix.Name{CommonName: "kube-apiserver"}, nil, nil)
	issue("front-proxy", proxy, pkix.Name{CommonName: "front-proxy-client"}, nil, nil)
	issue("kubelet-server", plane, pkix.Name{CommonName: "kubelet"}, []net.IP{node.AsSlice()}, nil)
	for _, client := range clients {
		issue(client, plane, subjectOf(client), nil, nil)
	}
	if err != nil {
		return err
	}
	signer, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return fmt.Errorf("encoding the service accounts' key: %w", err)
	}
	content["service-accounts.pub"] = encode("PUBLIC KEY", public)
	if content["service-accounts.key"], err = encodeKey(signer); err != nil {
		return err
	}
	for name, bytes := range content {
		if err := writeSecret(files.pki(name), bytes); err != nil {
			return err
		}
	}
	return writeSecret(files.pki(complete), nil)
}
