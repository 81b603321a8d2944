// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the keys, certificates and tokens of a sandbox.
package pki

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	keyBits = 2048
	// A sandbox lives for minutes; the manager renews certificates that run
	// out within 90 days, so these must last longer.
	validity = 10 * 365 * 24 * time.Hour
	// backdate forgives clocks that jump back a little.
	backdate = time.Hour
)

// Pair is a certificate with its key, both PEM. Keys are PKCS#1: the
// manager's certificate rotation takes nothing else for its CA.
type Pair struct {
	CertPEM []byte
	KeyPEM  []byte
}

// CA signs server certificates.
type CA struct {
	Pair
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

// NewCA makes a self-signed CA. name is its common name and DNS name.
func NewCA(name, organization string, now time.Time) (*CA, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("failed to make the key of CA %q: %w", name, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: []string{organization}},
		DNSNames:              []string{name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign CA %q: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("failed to read back CA %q: %w", name, err)
	}
	return &CA{Pair: encode(der, key), cert: cert, key: key}, nil
}

// Server makes a certificate for a server with these DNS names, the first of
// which is its common name, and addresses.
func (ca *CA) Server(now time.Time, dnsNames []string, ips ...net.IP) (Pair, error) {
	if len(dnsNames) == 0 {
		return Pair{}, errors.New("failed to make a server certificate: no DNS name given")
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Pair{}, fmt.Errorf("failed to make the key of %q: %w", dnsNames[0], err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: dnsNames[0]},
		DNSNames:     dnsNames,
		IPAddresses:  ips,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return Pair{}, fmt.Errorf("failed to sign the certificate of %q: %w", dnsNames[0], err)
	}
	return encode(der, key), nil
}

// SigningKey makes a key pair for service account tokens: private and public
// part, both PEM.
func SigningKey() (privatePEM, publicPEM []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to make the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("failed to encode the service account key: %w", err)
	}
	return encode(nil, key).KeyPEM, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), nil
}

// Token makes a bearer token of 128 random bits.
func Token() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // It never fails: it ends the program instead.
	return hex.EncodeToString(raw)
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("failed to make a serial number: %w", err)
	}
	return serial, nil
}

func encode(der []byte, key *rsa.PrivateKey) Pair {
	return Pair{
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPEM:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}
