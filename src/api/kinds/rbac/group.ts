/** The group of roles and bindings, which subjects and references name too. */
export const rbacGroup = 'rbac.authorization.k8s.io';
/** What the definitions of its types start with. */
export const rbacSchemas = 'io.k8s.api.rbac.v1';
