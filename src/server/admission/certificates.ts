// The admission plugins CertificateApproval, CertificateSigning and CertificateSubjectRestriction.
import { forbidden } from '../../api/errors.ts';
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificatesigningrequest/kind.ts';
import { readRequest } from '../../api/kinds/certificates/certificatesigningrequest/pkcs10.ts';
import type { CertificateSigningRequest } from '../../api/kinds/certificates/certificatesigningrequest/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { mastersGroup } from '../access/authorize.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';

const clientSigner = 'kubernetes.io/kube-apiserver-client';

/**
 * Throws a 403 for a new request for the rights of an administrator, and unless the user may approve, or sign,
 * requests for the signer.
 */
export function admitCertificate(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): void {
  const [object, stored] = [next, old] as [CertificateSigningRequest, CertificateSigningRequest | undefined];
  const why = refusal(context, request, object, stored);
  if (why !== undefined) throw forbidden(subjectOf(resource, object.metadata.name ?? ''), why);
}

function refusal(
  context: ServerContext,
  request: WriteRequest,
  object: CertificateSigningRequest,
  old: CertificateSigningRequest | undefined,
): string | undefined {
  const { plugins } = context;
  if (old === undefined) {
    if (!plugins.has('CertificateSubjectRestriction') || object.spec.signerName !== clientSigner) return undefined;
    // Validation has read and verified it.
    const { organizations } = readRequest(Buffer.from(object.spec.request, 'base64').toString('latin1'));
    return organizations.includes(mastersGroup)
      ? `use of ${clientSigner} signer with ${mastersGroup} group is not allowed`
      : undefined;
  }
  const { signerName } = old.spec;
  const isApproval = request.subresource === 'approval' && plugins.has('CertificateApproval');
  if (isApproval && !isAllowed(context, request, 'approve', signerName)) {
    return `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`;
  }
  const isSigning = request.subresource === 'status' && plugins.has('CertificateSigning');
  if (isSigning && !equalJson(object.status, old.status) && !isAllowed(context, request, 'sign', signerName)) {
    return `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`;
  }
  return undefined;
}

/** Whether the user may do this for the signer, or for all signers of its domain. */
function isAllowed({ access }: ServerContext, { user }: WriteRequest, verb: string, signerName: string): boolean {
  if (user === undefined) return true;
  const [domain = ''] = signerName.split('/');
  return [signerName, `${domain}/*`].some((name) =>
    access.isAllowed(user, {
      isResource: true,
      verb,
      group: certificateSigningRequestKind.group,
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
    }),
  );
}
