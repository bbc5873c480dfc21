import { alibaba } from './alibaba.ts';
import { aws } from './aws.ts';
import { azure } from './azure.ts';
import type { Cloud } from './cloud.ts';
import { digitalocean } from './digitalocean.ts';
import { gce } from './gce.ts';
import { ibmClassic, ibmVpc } from './ibm.ts';
import { openstack } from './openstack.ts';
import { oracle } from './oracle.ts';
import { tencent } from './tencent.ts';

/** All clouds in the order of tables. */
export const clouds: readonly Cloud[] = [
  alibaba,
  aws,
  azure,
  digitalocean,
  gce,
  ibmClassic,
  ibmVpc,
  openstack,
  oracle,
  tencent,
];

export const cloudNamed = (name: string): Cloud | undefined => clouds.find((cloud) => cloud.name === name);
