package rest

// @title Dabba
// @version 1
// @description Managed queues over plain HTTP. Durations are strings such as "30s", "5m" or "12h", or numbers of seconds; times are RFC 3339 in UTC. Unknown fields are refused. Errors are problem documents (RFC 9457) whose outcome says whether repeating is safe. A request body that is too large is refused (413) before all of it is read, and the connection is closed. HEAD works wherever GET does. What web pages of other sites send is refused (403) unless --allow-origin names their origin; a server without keys also refuses a Host that is not its own (421). Metrics for Prometheus are at /metrics (on --admin-addr, if that is set).
// @license.name Apache-2.0
// @license.url https://www.apache.org/licenses/LICENSE-2.0
// @externalDocs.url https://github.com/dabba-mq/dabba
// @externalDocs.description The project

// @securitydefinitions.bearerauth bearer
// @in header
// @name Authorization
