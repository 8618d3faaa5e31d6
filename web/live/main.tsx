import '../kit/theme.css';
import { mount } from '../kit/mount.tsx';
import { LiveView } from './live-view.tsx';

mount(<LiveView />);
