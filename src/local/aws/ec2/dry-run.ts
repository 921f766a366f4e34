import { AwsError } from '../wire/error.ts';

/** Refuses a dry run. Called after the request is validated and before the account changes. */
export function refuseDryRun({ DryRun: isDryRun }: { readonly DryRun?: boolean | undefined }): void {
  if (isDryRun) {
    throw new AwsError('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
  }
}
