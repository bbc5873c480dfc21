import { dnsSubdomainErrors, labelValueErrors } from '../../names.ts';

/** Why a text cannot be a cluster id, which is part of DNS names and the value of a label (MCS-3). */
export const clusterIdErrors = (id: string): readonly string[] => [
  ...new Set([...dnsSubdomainErrors(id), ...(id === '' ? [] : labelValueErrors(id))]),
];
