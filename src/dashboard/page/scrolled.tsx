// Content that may be wider than the page. It can be focused, so that arrow keys scroll it.
import type { ComponentChildren } from 'preact';

interface ScrolledProps {
  /** What a screen reader calls it. */
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A table. */
export const Scrolled = ({ label, children }: ScrolledProps) => (
  <div class="scroll" tabIndex={0} role="region" aria-label={label}>
    {children}
  </div>
);

/** Text whose lines are not broken. */
export const Output = ({ label, children }: ScrolledProps) => (
  <pre class="scroll" tabIndex={0} role="region" aria-label={label}>
    {children}
  </pre>
);
