// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// caName is the common name that the manager's certificate rotator expects
	// of its authority; it makes a new one when the name differs.
	caName = "kueue-ca"
	// certificateLifetime keeps the rotator, which renews 90 days before the
	// end, from touching the certificates.
	certificateLifetime = 2 * 365 * 24 * time.Hour
	keyBits             = 2048
)

// Certificates are the webhook server's key pair and the authority behind it,
// as PEM.
type Certificates struct {
	CACert, CAKey, Cert, Key []byte
}

// NewCertificates makes a key pair for a webhook server that is reached by the
// given DNS name and by the loopback address. The authority's key is PKCS#1, the
// only form that the rotator reads.
func NewCertificates(dnsName string) (*Certificates, error) {
	caKey, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("failed to make the authority's key: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("failed to make the server's key: %w", err)
	}
	begin := time.Now().Add(-time.Hour)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: caName, Organization: []string{"kueue"}},
		DNSNames:              []string{caName},
		NotBefore:             begin,
		NotAfter:              begin.Add(certificateLifetime),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	server := &x509.Certificate{
		SerialNumber:          big.NewInt(2),
		Subject:               pkix.Name{CommonName: dnsName},
		DNSNames:              []string{dnsName},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             begin,
		NotAfter:              begin.Add(certificateLifetime),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("failed to sign the authority: %w", err)
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("failed to sign the server's certificate: %w", err)
	}
	return &Certificates{
		CACert: pemOf("CERTIFICATE", caDER),
		CAKey:  pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(caKey)),
		Cert:   pemOf("CERTIFICATE", serverDER),
		Key:    pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
	}, nil
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// SecretData is what the manager's certificate Secret holds.
func (c *Certificates) SecretData() map[string][]byte {
	return map[string][]byte{"ca.crt": c.CACert, "ca.key": c.CAKey, "tls.crt": c.Cert, "tls.key": c.Key}
}

// WriteTo puts the server's key pair into dir, as the kubelet would for a mounted
// Secret. The certificate comes last: the manager takes it as the sign that both
// are there.
func (c *Certificates) WriteTo(dir string) error {
	for _, file := range []struct {
		name string
		data []byte
	}{{"tls.key", c.Key}, {"tls.crt", c.Cert}} {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path+".new", file.data, 0o600); err != nil {
			return fmt.Errorf("failed to write the webhook certificate: %w", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return fmt.Errorf("failed to write the webhook certificate: %w", err)
		}
	}
	return nil
}

// ClientConfig trusts the authority and asks for the given name.
func (c *Certificates) ClientConfig(serverName string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.CACert)
	return &tls.Config{RootCAs: pool, ServerName: serverName, MinVersion: tls.VersionTLS12}
}
