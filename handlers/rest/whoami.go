package rest

import "net/http"

// WhoAmI says who the server takes the caller for.
//
// @Summary Say who the caller is
// @ID whoAmI
// @Tags server
// @Produce json
// @Success 200 {object} Identity
// @Failure 401,default {object} problem.Document
// @Security bearer
// @Router /v1/whoami [get]
func (a *API) WhoAmI(w http.ResponseWriter, r *http.Request) error {
	p := a.principal(r)
	identity := Identity{Tenant: p.Tenant, Subject: p.Subject, Scopes: p.Scopes()}
	if !p.Expires.IsZero() {
		identity.ExpiresAt = new(p.Expires.UTC())
	}
	return reply(w, http.StatusOK, identity)
}
