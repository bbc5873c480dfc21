/** Sets any credentials: the SDK requires some, the stand-in accepts all. */
export function anyCredentials(): void {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
}
