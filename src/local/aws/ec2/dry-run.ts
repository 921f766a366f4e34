import { AwsError } from '../wire/error.ts';

/** Called where a request is known to be good and before anything changes. */
export function refuseDryRun({ DryRun: isDryRun }: { readonly DryRun?: boolean | undefined }): void {
  if (isDryRun) {
    throw new AwsError('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
  }
}
