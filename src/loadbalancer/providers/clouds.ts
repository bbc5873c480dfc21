import { alibaba } from './alibaba/cloud.ts';
import { aws } from './aws/cloud.ts';
import { azure } from './azure/cloud.ts';
import type { Cloud } from './cloud.ts';
import { digitalocean } from './digitalocean/cloud.ts';
import { gce } from './gce/cloud.ts';
import { ibmClassic } from './ibm-classic/cloud.ts';
import { ibmVpc } from './ibm-vpc/cloud.ts';
import { openstack } from './openstack/cloud.ts';
import { oracle } from './oracle/cloud.ts';
import { tencent } from './tencent/cloud.ts';

/** Every cloud there is a plan for, in the order in which tables list them. */
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

/** The cloud of a name. */
export const cloudNamed = (name: string): Cloud | undefined => clouds.find((cloud) => cloud.name === name);
