/** Credentials are found by the SDK; those of a stand-in are any. */
export function anyCredentials(): void {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
}
