package auth

import "crypto/x509"

// derKind is a kind of key, and how it is recognized in DER.
type derKind struct {
	name string
	is   func([]byte) bool
}

func parses[T any](parse func([]byte) (T, error)) func([]byte) bool {
	return func(data []byte) bool {
		_, err := parse(data)
		return err == nil
	}
}

var derKinds = []derKind{
	{"a public key", parses(x509.ParsePKIXPublicKey)},
	{"a public key", parses(x509.ParsePKCS1PublicKey)},
	{"a certificate", parses(x509.ParseCertificate)},
	{"a certificate request", parses(x509.ParseCertificateRequest)},
	{"a private key", parses(x509.ParsePKCS8PrivateKey)},
	{"a private key", parses(x509.ParsePKCS1PrivateKey)},
	{"a private key", parses(x509.ParseECPrivateKey)},
}
